/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs with the same bits on any number of ranks (parallel.reproducible; the sums:
 * optim/leaf_sums.h). A step's samples, in their order, are cut into micro-batches of
 * train.batch_size, the leaves of a tree; each rank has a branch of it: neighbouring leaves, a
 * power of two of them, or all. What a leaf's gradients, statistics and random numbers are depends
 * on the leaf alone. */
#ifndef DLX_TRAIN_LEAVES_H
#define DLX_TRAIN_LEAVES_H

#include "comm/comm.h"
#include "train/ahead.h"

/* What the config alone says; E_CONFIG. */
int leaves_check(const struct run_config *c);
/* Sets c->leaves; E_CONFIG, with the numbers that can, if so many ranks cannot share the tree. */
int leaves_share(struct run_config *c, int ranks);
/* How many ranks to share for: those that are there; or those that are only planned for, whose
 * number shows in the plan. */
int leaves_ranks(const struct run_config *c, const struct comm *comm, int planned);
/* What the device and the places of the ranks have to be like. */
int leaves_check_ranks(const struct run_config *c, const struct device *dev);
/* Which of the branches this rank has: the ranks of a host have neighbouring ones, where memory of
 * the host is what is summed first. */
int leaves_place(const struct run_config *c, const struct device *dev, const struct comm *comm);

/* Of so many samples, those of the last micro-batch, if it is a short one; else 0. Samples
 * themselves if batches are not cut. */
int64_t leaves_rest(const struct run_config *c, int64_t samples);

/* The micro-batches of a step that are this rank's, reproducible or not. */
struct micros {
	struct ahead *from;
	int64_t n, at;                   /* how many; the next one */
	int64_t samples;                 /* of all ranks, so far */
	int64_t batches;                 /* of the loader, in the whole step */
	/* reproducible: */
	int64_t leaves;                  /* of all ranks; else 0 */
	int64_t size;                    /* samples of a leaf */
	int64_t input, target;           /* elements of a sample */
	const struct batch *whole;       /* what the loader has for the step */
	struct batch part;
};
/* batches: how many of the loader's the step has. Borrows from. */
int micros_begin(struct micros *m, const struct run_config *c, struct ahead *from, int64_t batches);
int micros_next(struct micros *m, const struct batch **b);

#endif
