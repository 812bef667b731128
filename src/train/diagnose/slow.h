/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides whether and why a run is slow. A run is slow if its sustained rate is less than half the
 * rate of its best step; a reason is something that took a large part of the time. The caller
 * provides all measurements. */
#ifndef DLX_TRAIN_SLOW_H
#define DLX_TRAIN_SLOW_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/host.h"

struct slow_evidence {
	double seconds;                /* seconds of wall time that were measured */
	double sustained, best;        /* samples/s in this time; in the best step */
	double data, ranks, between;   /* seconds of waiting for batches; of waiting for all-reduces;
	                                * outside steps, in validations and checkpoints */
	struct host_load host;         /* growth of the host's counters in this time; its present
	                                * load */
	int threads, decode_threads, processors;     /* compute and decode threads of this rank;
	                                              * host_processors() */
	bool gpu;                      /* the rank computes on a GPU, so compute threads do not
	                                * determine its speed */
};

enum slow_reason { SLOW_THROTTLED, SLOW_THREADS, SLOW_OTHERS, SLOW_DATA, SLOW_RANKS, SLOW_BETWEEN,
	SLOW_REASONS };

/* Whether the run is slow according to its rates. */
bool slow_is(const struct slow_evidence *e);
/* A bit 1 << reason for each reason that took at least a quarter of the time; 0: no reason was
 * found. A measurement that is NaN is ignored. */
unsigned slow_reasons(const struct slow_evidence *e);
/* Appends one line without a line break: the evidence and the remedy. */
void slow_text(const struct slow_evidence *e, enum slow_reason reason, struct buf *out);
/* Appends JSON members, each after a comma: "reasons", a list, and the evidence. */
void slow_json(const struct slow_evidence *e, unsigned reasons, struct buf *out);

#endif
