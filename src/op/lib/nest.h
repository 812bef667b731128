/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A loop nest over the axes that one or two strided tensors share. Axes are collected, sorted by
 * stride, and merged if both tensors continue without a gap, so that row-major and channels-last
 * tensors of any rank need two or three loops. Reductions, broadcast and transpose use it. */
#ifndef DLX_OP_LIB_NEST_H
#define DLX_OP_LIB_NEST_H

#include "graph/op.h"

struct nest {
	int n;                               /* levels, outermost first */
	int64_t count;                       /* product of the sizes; 1 if there is no level */
	int64_t size[MAXD], x[MAXD], y[MAXD];   /* strides in elements */
};

void nest_add(struct nest *t, int64_t size, int64_t x, int64_t y);   /* adds an axis; t starts as
                                                                      * zero */
/* Call it after the last axis. It sorts the axes by falling stride of y or of x, merges them, and
 * computes the count. */
void nest_close(struct nest *t, bool by_y);
/* Removes the innermost level. */
void nest_pop(struct nest *t);
/* The offsets in x and y of element i of the nest. */
void nest_at(const struct nest *t, int64_t i, int64_t *x, int64_t *y);

/* For choose(): *in stays if it is strided, else becomes native. *out stays if it is strided
 * without gaps, else becomes native. */
void strided_choose(const struct kplan *k, struct layout *in, struct layout *out);
/* The layout of t as one stride for each axis. strided_choose has given t this layout, or an equal
 * one. */
struct layout strided_layout(const struct graph *g, tid t);

#endif
