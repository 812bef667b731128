/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The speed of a run as papers report it: sustained (all samples by all wall time) and peak (the
 * best step), and how its ranks differ. Updated now and then and at the end, by one gather among
 * the ranks each time. */
#ifndef DLX_TRAIN_RATES_H
#define DLX_TRAIN_RATES_H

#include "train/run/data_rates.h"
#include "train/run/opening.h"
#include "train/save/spread.h"

struct rates {
	const struct session *s;
	/* Since the last update. */
	double looked_at;              /* io_seconds */
	int64_t steps;
	double seconds, waited;        /* of steps; waited: its value at the last update */
	struct comm_counts counts;     /* what there was */
	/* In all. */
	int64_t all_steps;
	double best;                   /* samples/s of the best step but the first, on all ranks */
	/* As of the last update. */
	double sustained;              /* samples/s */
	double sums, messages;         /* a step, of this rank */
	int64_t looked_steps;
	struct spread spread;
	double efficiency;             /* against one rank: see dlx-train(1); 0: not known */
	struct data_rates data;
};

void rates_begin(struct rates *r, const struct session *s);
/* After each step: its time, what it waited of that for data, and samples on all ranks, each
 * counted by its cost relative to the mean one where sizes differ. */
void rates_step(struct rates *r, double seconds, double waited, double samples);
/* Whether an update is due; rank 0 decides. */
bool rates_due(const struct rates *r);
/* Updates the rates. samples, seconds: of the run so far, all starts. Does nothing if there was no
 * step since the last one. Collective. */
void rates_update(struct rates *r, struct comm *c, int64_t samples, double seconds);

/* For the end of a run: a line, one of several ranks, and one of the data; flops: of a sample, 0
 * if not known. */
void rates_text(const struct rates *r, double flops, struct buf *out);

#endif
