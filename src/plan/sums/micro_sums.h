/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over a step's micro-batches in one order for any number of ranks (parallel.reproducible).
 * The step's micro-batches, in the order of their samples, are the leaves of a tree: neighbours are
 * added first, then pairs of pairs. A rank has a whole branch, a power of two of neighbouring
 * leaves. It sums them like a binary counter, by `accumulate` nodes of levels 0, 1, ...; a node of
 * level k has work for one leaf in 2^k. The reducer adds the ranks' branches as a tree too
 * (comm/sum.h). The last step of an epoch may have fewer leaves; missing leaves are not added, and
 * a rank without leaves adds -0, which changes no bits. */
#ifndef DLX_PLAN_MICRO_SUMS_H
#define DLX_PLAN_MICRO_SUMS_H

#include "optim/optim.h"
#include "plan/sums/buckets.h"

struct micro_sums {
	int levels;                  /* partial sums in memory, one per level of the tree; 0: sums are
	                              * not made as a tree */
	tid place;                   /* I64 (SUM_VALUES), input: the number of the leaf among the rank's
	                              * (op/update/update.h) */
	tid inverse;                 /* F32 scalar, input: 1 / leaves of all ranks in
	                              * the step; NONE: no reader */
};

/* Prepares the sums of at most `leaves` micro-batches of a rank. */
int micro_sums_begin(struct graph *g, int64_t leaves, struct micro_sums *out);
/* b->grad become the sums of this rank. */
int micro_sums_gradients(struct graph *g, const struct micro_sums *s, struct bundles *b);
/* Does the same for *terms, the sums of the loss, which a rank without leaves has as well. */
int micro_sums_terms(struct graph *g, const struct micro_sums *s, tid *terms);
/* Updates running statistics once a step, by the mean of all leaves' statistics, instead of once
 * for each micro-batch. The ranks' sums are one additional bucket of the reducer, whose number
 * follows those of k; NULL: one rank. */
int micro_sums_statistics(struct graph *g, struct micro_sums *s, const struct buckets *k);

#endif
