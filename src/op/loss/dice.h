/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Soft Dice of rows of points on the CPU, and what its kernels have in common (dice.c has the
 * formulas). */
#ifndef DLX_OP_LOSS_DICE_H
#define DLX_OP_LOSS_DICE_H

#include "op/loss/labels.h"

#define DICE_CLASSES 1024                /* at most */
#define DICE_TABLE   3                   /* rows of the table of a group */

struct dice_attr {
	int64_t ignore;
	bool squared, background, per_batch;
	double smooth_numerator, smooth_denominator;
	double dice, cross_entropy;          /* factors */
	int64_t group;                       /* of the reducer of statistics: the points of a sample are
	                                      * cut over ranks; negative: all are here */
};

/* One class's sums over those points of a row, or of a group, that are not ignored. */
struct dice_sums {
	double both, share, labels, entropy;
};

/* Adds row r of logits x and labels y to sums[classes]. */
void dice_row(const struct labels *l, const struct dice_attr *c, const float *x, const int32_t *y,
              int64_t row, struct dice_sums *sums, struct bad_labels *bad);
/* dx of row r, or x itself; table: of the row's group; f: factor on all. */
void dice_grad_row(const struct labels *l, const struct dice_attr *c, const float *x,
                   const int32_t *y, const float *table, float f, int64_t row, float *dx);

/* --- on the GPU; there only in a build with CUDA --- */

int dice_cuda_plan(struct kplan *k);
int dice_cuda(const struct kplan *k, const struct kargs *a);
int dice_grad_cuda(const struct kplan *k, const struct kargs *a);

#endif
