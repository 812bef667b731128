/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of the ops that combine the losses of many batches to one mean (mean.c), and the
 * layout of their states. */
#ifndef DLX_OP_LOSS_MEAN_H
#define DLX_OP_LOSS_MEAN_H

#include <stdbool.h>

/* The terms of a step: the sum of the loss, its weight (the divisor), the number of ranks that vote
 * to stop, and the sum of the votes (bits) that only rank 0 casts. */
enum { MEAN_LOSS, MEAN_WEIGHT, MEAN_VOTE };
enum { VOTE_STOP, VOTE_FIRST, MEAN_VOTES };
enum { FIRST_SAVE = 1, FIRST_REPORT = 2, FIRST_SAVE_LOCAL = 4 };
#define MEAN_TERMS (MEAN_VOTE + MEAN_VOTES)

struct mean_attr {
	double nominal;              /* planned weight of a batch */
	bool sum;                    /* the loss is a sum, not a mean: weights are ignored */
};

#endif
