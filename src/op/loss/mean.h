/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of the ops that make one mean of many batches
 * (mean.c), and what their states are read for. */
#ifndef DLX_OP_LOSS_MEAN_H
#define DLX_OP_LOSS_MEAN_H

#include <stdbool.h>

/* The terms of a step: what the loss is a sum of, what it was taken over, how many ranks vote to
 * stop, and the sum of the votes that rank 0 alone may cast. */
enum { MEAN_LOSS, MEAN_WEIGHT, MEAN_VOTE };
enum { VOTE_STOP, VOTE_FIRST, MEAN_VOTES };
enum { FIRST_SAVE = 1, FIRST_REPORT = 2, FIRST_SAVE_LOCAL = 4 };
#define MEAN_TERMS (MEAN_VOTE + MEAN_VOTES)

struct mean_attr {
	double nominal;              /* weight of a batch as planned */
	bool sum;                    /* the loss is a sum, not a mean: weights do not count */
};

#endif
