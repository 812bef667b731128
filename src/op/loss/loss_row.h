/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of softmax cross-entropy and of its gradient on the CPU. The comment at the top of loss.c
 * defines the quantities. */
#ifndef DLX_OP_LOSS_LOSS_ROW_H
#define DLX_OP_LOSS_LOSS_ROW_H

#include "op/loss/labels.h"
#include "op/loss/loss.h"

/* Sums of one row of elements. */
struct loss_part {
	double loss, weight;
	struct bad_labels bad;
};

/* The focal factor (1 - q)^gamma for e = -log q, and the function F of loss.c. */
double loss_focus(double gamma, double e);
double loss_focus_slope(double gamma, double e);
/* The contribution to W of one counted element whose class weight is w. */
double loss_share(const struct loss_attr *c, double w);

/* Adds row r of x and y, arrays that begin at row 0. lse: receives log-sum-exp; may be NULL. */
void loss_row(const struct labels *l, const struct loss_attr *c, const float *x, const int32_t *y,
              const float *weights, int64_t row, float *lse, struct loss_part *part);

struct loss_gradient {
	const struct labels *l;
	const struct loss_attr *c;
	const float *x, *lse, *weights;
	const int32_t *y;
	float *dx, each;             /* dx may be x; each: a factor of every element */
};

/* Computes one row of the gradient. */
void loss_grad_row(const struct loss_gradient *g, int64_t row, struct bad_labels *bad);

#endif
