/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The speed of a run as papers report it, sustained (all samples divided by wall time) and peak
 * (that of the best step), and the differences between its ranks. Each update is one gather among
 * the ranks; updates happen from time to time and at the end. */
#ifndef DLX_TRAIN_RATES_H
#define DLX_TRAIN_RATES_H

#include "train/run/data_rates.h"
#include "train/run/opening.h"
#include "train/diagnose/spread.h"

struct rates {
	const struct session *s;
	/* Since the last update. */
	double looked_at;              /* io_seconds */
	int64_t steps;
	double seconds, waited;        /* seconds in steps; session_waited() at the last update */
	struct comm_counts counts;     /* communication counters at the last update */
	/* Over the whole run: */
	int64_t all_steps;
	double best;                   /* samples/s of the best step but the first, on all ranks */
	/* As of the last update. */
	double sustained;              /* samples/s */
	double sums, messages;         /* all-reduces, and messages, per step of this rank */
	int64_t looked_steps;
	struct spread spread;
	double efficiency;             /* parallel efficiency relative to one rank: see dlx-train(1); 0:
	                                * not known */
	struct data_rates data;
};

void rates_begin(struct rates *r, const struct session *s);
/* Adds a step: its seconds, the seconds of these in which it waited for data, and the samples of
 * all ranks. If samples have several sizes, each counts by its cost relative to the mean. */
void rates_step(struct rates *r, double seconds, double waited, double samples);
/* Whether an update is due. Only rank 0 calls it. */
bool rates_due(const struct rates *r);
/* Updates the rates. samples, seconds: totals of the run, including those before a resume. Does
 * nothing if no step was made since the last update. Collective. */
void rates_update(struct rates *r, struct comm *c, int64_t samples, double seconds);

/* Appends lines for the end of a run: the rates, the differences between several ranks, and the
 * data. flops: those of a sample, 0 if not known. */
void rates_text(const struct rates *r, double flops, struct buf *out);

#endif
