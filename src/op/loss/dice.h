/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Soft Dice on the CPU, computed by rows of points, and declarations that its kernels share (dice.c
 * has the formulas). */
#ifndef DLX_OP_LOSS_DICE_H
#define DLX_OP_LOSS_DICE_H

#include "op/loss/labels.h"

#define DICE_CLASSES 1024                /* the most classes */
#define DICE_TABLE   3                   /* rows of a group's table */

struct dice_attr {
	int64_t ignore;
	bool squared, background, per_batch;
	double smooth_numerator, smooth_denominator;
	double dice, cross_entropy;          /* factors of the two terms of the loss */
	int64_t group;                       /* index in the reducer of statistics if the points of a
	                                      * sample are divided among ranks; negative: this rank has
	                                      * all points */
};

/* The sums of one class over the points of a row, or of a group, that are not ignored. */
struct dice_sums {
	double both, share, labels, entropy;
};

/* Adds row r of logits x and labels y to sums[classes]. */
void dice_row(const struct labels *l, const struct dice_attr *c, const float *x, const int32_t *y,
              int64_t row, struct dice_sums *sums, struct bad_labels *bad);
/* Writes row r of dx, which may be x. table: that of the row's group; f: factor of the whole
 * gradient. */
void dice_grad_row(const struct labels *l, const struct dice_attr *c, const float *x,
                   const int32_t *y, const float *table, float f, int64_t row, float *dx);

/* --- GPU kernels, defined only in a build with CUDA --- */

int dice_cuda_plan(struct kplan *k);
int dice_cuda(const struct kplan *k, const struct kargs *a);
int dice_grad_cuda(const struct kplan *k, const struct kargs *a);

#endif
