/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Why a run is slow: its sustained rate is less than half of that of its best step, and something
 * has taken a large part of the time. What was measured is given; nothing here asks the system. */
#ifndef DLX_TRAIN_SLOW_H
#define DLX_TRAIN_SLOW_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/host.h"

struct slow_evidence {
	double seconds;                /* wall time looked at */
	double sustained, best;        /* samples/s in it; of the best step */
	double data, ranks, between;   /* seconds: waiting for batches, for all-reduces; not in
	                                * steps but in validations and checkpoints */
	struct host_load host;         /* what it grew by; load as it is now */
	int threads, decode_threads, processors;     /* of this rank; processors: host_processors() */
	bool gpu;                      /* compute threads do not make its speed */
};

enum slow_reason { SLOW_THROTTLED, SLOW_THREADS, SLOW_OTHERS, SLOW_DATA, SLOW_RANKS, SLOW_BETWEEN,
	SLOW_REASONS };

/* Whether the rates say so. */
bool slow_is(const struct slow_evidence *e);
/* A bit 1 << reason for each that took a quarter of the time; 0: nothing measured says why. What
 * is NaN is no evidence. */
unsigned slow_reasons(const struct slow_evidence *e);
/* One line without its end: the evidence, and what to set. */
void slow_text(const struct slow_evidence *e, enum slow_reason reason, struct buf *out);
/* The members of an object, each after a comma: "reasons", a list, and the evidence. */
void slow_json(const struct slow_evidence *e, unsigned reasons, struct buf *out);

#endif
