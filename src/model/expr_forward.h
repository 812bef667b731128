/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forward-mode derivatives with respect to coordinates: node by node through the emitted graph, and
 * as streams (model/streams.h) through the dense layers of networks. */
#ifndef DLX_MODEL_EXPR_FORWARD_H
#define DLX_MODEL_EXPR_FORWARD_H

#include "model/expr_derive.h"

/* The derivative of y with respect to x if it has been emitted before; or NULL. */
const struct derived *expr_derived(const struct expr_emission *m, tid y, tid x);
void expr_remember(struct expr_emission *m, tid y, tid x, tid dx);

/* Notes that the algorithm m->how is impossible, and why. */
void expr_refuse(struct expr_emission *m, const char *why);
/* dy = the derivative of y with respect to the coordinate x; NONE: zero. */
int expr_tangent(struct expr_emission *m, tid y, tid x, tid *dy);
/* The sum over i of the second derivative of y with respect to x[i], for n = 2 to STREAM_AXES
 * coordinates. *out NONE: zero. */
int expr_sum_of_second(struct expr_emission *m, tid y, int n, const tid *x, tid *out);

#endif
