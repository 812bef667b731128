/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Index arithmetic for ops with batch, channel and spatial axes. A tensor (N, C, [D,] [H,] W) has
 * n, c and three spatial sizes d[0..2], innermost last; absent axes have size 1. So one set of
 * loops serves one, two and three spatial axes. */
#ifndef DLX_OP_LIB_GRID_H
#define DLX_OP_LIB_GRID_H

#include "graph/op.h"

struct grid {
	int axes; /* spatial axes: 0 for (N, C) */
	int64_t n, c, d[3];
};

struct grid grid_of(const struct shape *s); /* 2 to 5 axes */
struct shape grid_shape(const struct grid *g);
int64_t grid_points(const struct grid *g); /* d[0] * d[1] * d[2] */

/* Reads attribute a, named `what` in messages, into out: an empty list gives dflt for every spatial
 * axis, one number holds for all of them, else there is one for each. Error: E_CONFIG at loc. */
int grid_ints(const struct loc *loc, const struct node *n, const char *what, const struct ints *a,
              int axes, int64_t dflt, int64_t out[3]);

/* Conversion between a row-major index and coordinates. */
void grid_split(const struct shape *s, int64_t flat, int64_t *i);
int64_t grid_join(const struct shape *s, const int64_t *i);

/* The axes of s in the order in which memory holds them, outermost first: that of layout_native, or
 * unchanged on DEVICE_DOUBLE, where all tensors are row-major. */
void grid_memory_order(const struct kplan *k, const struct shape *s, int order[MAXD]);

#endif
