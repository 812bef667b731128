/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of the ops that make one mean of many batches (mean.c), and what their states are read for. */
#ifndef DLX_OP_MEAN_H
#define DLX_OP_MEAN_H

#include "config/schema.h"

/* The terms of a step: what the loss is a sum of, what it was taken over, and how many ranks have which wish. */
enum { MEAN_LOSS, MEAN_WEIGHT, MEAN_WISH };
enum { WISH_STOP, WISH_SAVE, MEAN_WISHES };
#define MEAN_TERMS (MEAN_WISH + MEAN_WISHES)

struct mean_attr {
	double nominal;              /* weight of a batch as planned */
	bool sum;                    /* the loss is a sum, not a mean: weights do not count */
};

#endif
