/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A loop nest over axes that one or two strided tensors share: axes are collected, sorted by
 * stride and joined where both tensors run on, so that row-major and channels-last tensors of any
 * rank come down to two or three loops. Used by reductions, broadcast and transpose. */
#ifndef DLX_OP_LIB_NEST_H
#define DLX_OP_LIB_NEST_H

#include "graph/op.h"

struct nest {
	int n;                               /* levels, outermost first */
	int64_t count;                       /* product of the sizes; 1 if there is no level */
	int64_t size[MAXD], x[MAXD], y[MAXD];   /* strides in elements */
};

void nest_add(struct nest *t, int64_t size, int64_t x, int64_t y);   /* an axis; t starts as zero */
/* After the last axis: sorts by falling stride of y or x, joins, counts. */
void nest_close(struct nest *t, bool by_y);
/* Takes the innermost level off. */
void nest_pop(struct nest *t);
/* Offsets of the element that is number i of the nest. */
void nest_at(const struct nest *t, int64_t i, int64_t *x, int64_t *y);

/* For choose(): *in stays if it is strided, else becomes native. *out stays if it is strided
 * without gaps, else becomes native. */
void strided_choose(const struct kplan *k, struct layout *in, struct layout *out);
/* The layout of tensor t, which strided_choose gave it or an equal one, with one stride an axis. */
struct layout strided_layout(const struct graph *g, tid t);

#endif
