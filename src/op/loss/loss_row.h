/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of softmax cross-entropy and of its gradient on the CPU (loss.c says what they are). */
#ifndef DLX_OP_LOSS_LOSS_ROW_H
#define DLX_OP_LOSS_LOSS_ROW_H

#include "op/loss/labels.h"
#include "op/loss/loss.h"

/* Sums of one row of elements. */
struct loss_part {
	double loss, weight;
	struct bad_labels bad;
};

/* (1 - q)^gamma for e = -log q, and F of loss.c. */
double loss_focus(double gamma, double e);
double loss_focus_slope(double gamma, double e);
/* The part of W of one counted element of class weight w. */
double loss_share(const struct loss_attr *c, double w);

/* Row r of x, its labels and its part of lse, all of which begin at the first row. lse: or NULL. */
void loss_row(const struct labels *l, const struct loss_attr *c, const float *x, const int32_t *y,
              const float *weights, int64_t row, float *lse, struct loss_part *part);

struct loss_gradient {
	const struct labels *l;
	const struct loss_attr *c;
	const float *x, *lse, *weights;
	const int32_t *y;
	float *dx, each;             /* dx: or x itself; each: factor on every element */
};

/* One row of the gradient. */
void loss_grad_row(const struct loss_gradient *g, int64_t row, struct bad_labels *bad);

#endif
