/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Index arithmetic of ops that know batch, channels and space. A tensor (N, C, [D,] [H,] W) becomes
 * n, c and three spatial sizes d[0..2], innermost last, absent ones 1, so that one set of loops
 * serves one, two and three spatial axes. */
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

/* The attribute `a` named `what`: nothing (out becomes dflt), one number for all spatial axes, or
 * one for each. Error: E_CONFIG at loc. */
int grid_ints(const struct loc *loc, const struct node *n, const char *what, const struct ints *a,
              int axes, int64_t dflt, int64_t out[3]);

/* Row-major index to coordinates and back. */
void grid_split(const struct shape *s, int64_t flat, int64_t *i);
int64_t grid_join(const struct shape *s, const int64_t *i);

/* The axes of s in the order they are in memory: under layout_native; on DEVICE_DOUBLE, where all
 * tensors are row-major, as they are. */
void grid_memory_order(const struct kplan *k, const struct shape *s, int order[MAXD]);

#endif
