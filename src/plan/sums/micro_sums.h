/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over a step's micro-batches in one order for any number of ranks (parallel.reproducible).
 * The step's micro-batches, in the order of their samples, are the leaves of a tree: neighbours are
 * added first, then pairs of pairs. A rank has a power of two of neighbouring leaves, a whole
 * branch, which it sums as a binary counter does, by nodes `accumulate` of levels 0, 1, ... (some
 * of which do nothing for most leaves); the reducer adds the ranks' branches as a tree too
 * (comm/sum.h). The last step of an epoch may have fewer leaves; missing leaves are not added, and
 * a rank without leaves adds -0, which changes no bits. */
#ifndef DLX_PLAN_MICRO_SUMS_H
#define DLX_PLAN_MICRO_SUMS_H

#include "optim/optim.h"
#include "plan/sums/buckets.h"

struct micro_sums {
	int levels;                  /* sums in memory; 0: sums are not made so */
	tid place;                   /* I64 (SUM_VALUES), input: which leaf of the rank's
	                              * (op/update/update.h) */
	tid inverse;                 /* F32 scalar, input: 1 / leaves of all ranks in
	                              * the step; NONE: no reader */
};

/* Sums of `leaves` micro-batches of a rank at most. */
int micro_sums_begin(struct graph *g, int64_t leaves, struct micro_sums *out);
/* b->grad become the sums of this rank. */
int micro_sums_gradients(struct graph *g, const struct micro_sums *s, struct bundles *b);
/* *terms too, which an absent rank has as well. */
int micro_sums_terms(struct graph *g, const struct micro_sums *s, tid *terms);
/* Running statistics follow the mean of all leaves' statistics, once a step, instead of each
 * micro-batch's. k: for the number of one more bucket of the reducer; NULL: one rank. */
int micro_sums_statistics(struct graph *g, struct micro_sums *s, const struct buckets *k);

#endif
