/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over elements of a function of d = prediction - target, shared by the regression losses and
 * metrics. The CPU version adds the sums of fixed-size pieces in order, in double, so the result
 * does not depend on the number of threads. */
#ifndef DLX_OP_LOSS_POINTWISE_ERROR_H
#define DLX_OP_LOSS_POINTWISE_ERROR_H

#include "graph/op.h"

enum pointwise_error {
	ERROR_ABSOLUTE,     /* |d| */
	ERROR_SQUARE,       /* d^2 */
	ERROR_HUBER         /* d^2 / 2 up to |d| = delta, then delta (|d| - delta / 2) */
};

/* Inputs 0 and 1 are float32 of equal shape. */
int pointwise_error_check(struct graph *g, const struct node *n);
void pointwise_error_cost(const struct graph *g, const struct node *n, struct cost *c);

double pointwise_error_sum_reference(enum pointwise_error f, double delta, const double *x,
                                     const double *t, int64_t n);
size_t pointwise_error_workspace(int64_t n);
double pointwise_error_sum(enum pointwise_error f, float delta, const float *x, const float *t,
                           int64_t n, void *ws);

#endif
