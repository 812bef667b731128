/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Short forms for gradient rules and builders: each emits one node into g and returns its
 * output. */
#ifndef DLX_OP_LIB_EMIT_H
#define DLX_OP_LIB_EMIT_H

#include "graph/op.h"
#include "op/lib/slice.h"

int emit_sub(struct graph *g, tid a, tid b, tid *out);
int emit_mul(struct graph *g, tid a, tid b, tid *out);
int emit_div(struct graph *g, tid a, tid b, tid *out);
/* A unary op without attributes: relu, exp, ... */
int emit_unary(struct graph *g, const char *op, tid x, tid *out);
/* factor * x + shift */
int emit_scale(struct graph *g, tid x, double factor, double shift, tid *out);
/* Sum over the axes in the bit mask (kept as 1 if keep). */
int emit_sum(struct graph *g, tid x, unsigned axes, bool keep, tid *out);
/* Repeats x to shape s. Each axis of x is 1 or equals the axis of s; missing leading axes count as
 * 1. */
int emit_broadcast(struct graph *g, tid x, const struct shape *s, tid *out);
int emit_reshape(struct graph *g, tid x, const struct shape *s, tid *out);
int emit_transpose(struct graph *g, tid x, const int *perm, tid *out);
int emit_slice(struct graph *g, tid x, const struct slice *range, tid *out);
int emit_concat(struct graph *g, int64_t axis, int n, const tid *in, tid *out);
/* A tensor filled with value at run time; it takes no storage in the plan file. */
int emit_fill(struct graph *g, double value, const struct shape *s, tid *out);

struct ints ints_make(struct graph *g, int n, const int64_t *v);            /* in g's arena */

#endif
