/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derivatives by coordinates that travel forward, node by node through what is emitted, and as
 * streams (model/streams.h) through the dense layers of networks. */
#ifndef DLX_MODEL_EXPR_FORWARD_H
#define DLX_MODEL_EXPR_FORWARD_H

#include "model/expr_derive.h"

/* y derived by x, where that has been emitted; or NULL. */
const struct derived *expr_derived(const struct expr_emission *m, tid y, tid x);
void expr_remember(struct expr_emission *m, tid y, tid x, tid dx);

/* Derivatives cannot be taken as m->how says. */
void expr_refuse(struct expr_emission *m, const char *why);
/* dy = y derived by the coordinate x, NONE: zero. */
int expr_tangent(struct expr_emission *m, tid y, tid x, tid *dy);
/* The sum of the second derivatives of y by each of x[0 .. n - 1], 2 to STREAM_AXES of them,
 * NONE: zero. */
int expr_sum_of_second(struct expr_emission *m, tid y, int n, const tid *x, tid *out);

#endif
