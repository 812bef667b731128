/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast a run is, as the papers about such runs tell it: sustained, which is all its samples by
 * all its wall time, and peak, which is its best step; and how its ranks differ. Looked at now and
 * then, and at the end: what the ranks have to exchange for it is one gather a look. */
#ifndef DLX_TRAIN_RATES_H
#define DLX_TRAIN_RATES_H

#include "train/session.h"
#include "train/spread.h"

struct rates {
	const struct session *s;
	/* Since the last look. */
	double looked_at;              /* io_seconds */
	int64_t steps;
	double seconds, waited;        /* of steps; waited: what there was at the last look */
	struct comm_counts counts;     /* what there was */
	/* In all. */
	int64_t all_steps;
	double best;                   /* samples/s of the best step but the first, on all ranks */
	/* As of the last look. */
	double sustained;              /* samples/s */
	double sums, messages;         /* a step, of this rank */
	int64_t looked_steps;
	struct spread spread;
	double efficiency;             /* against one rank: see dlx-train(1); 0: not known */
};

void rates_begin(struct rates *r, const struct session *s);
/* After each step: its time, and samples on all ranks. */
void rates_step(struct rates *r, double seconds, int64_t samples);
/* Whether it is time for a look; rank 0 decides. */
bool rates_due(const struct rates *r);
/* samples, seconds: of the run so far, all starts. Nothing if there was no step since the last one. Collective. */
void rates_look(struct rates *r, struct comm *c, int64_t samples, double seconds);

/* For the end of a run: a line, and a second one of several ranks; flops: of a sample, 0 if not known. */
void rates_text(const struct rates *r, double flops, struct buf *out);

#endif
