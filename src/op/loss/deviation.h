/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over elements of a function of d = prediction - target: what the regression losses and
 * metrics share. The CPU form adds pieces of fixed size in order in double, so the number of
 * threads does not matter. */
#ifndef DLX_OP_LOSS_DEVIATION_H
#define DLX_OP_LOSS_DEVIATION_H

#include "graph/op.h"

enum deviation {
	DEVIATION_ABSOLUTE, /* |d| */
	DEVIATION_SQUARE,   /* d^2 */
	DEVIATION_HUBER     /* d^2 / 2 up to |d| = delta, then delta (|d| - delta / 2) */
};

/* Inputs 0 and 1 are float32 of equal shape. */
int deviation_check(struct graph *g, const struct node *n);
void deviation_cost(const struct graph *g, const struct node *n, struct cost *c);

double deviation_sum_reference(enum deviation f, double delta, const double *x, const double *t,
                               int64_t n);
size_t deviation_workspace(int64_t n);
double deviation_sum(enum deviation f, float delta, const float *x, const float *t, int64_t n,
                     void *ws);

#endif
