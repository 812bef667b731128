/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The innermost parts of a matrix product whose second matrix is packed in panels, for CPUs with
 * AVX-512: one tile of the result, and a square that is turned over while a panel is packed. */
#ifndef DLX_OP_CONV_CONV_POINT_TILE_H
#define DLX_OP_CONV_CONV_POINT_TILE_H

#include <stdint.h>

#define POINT_VECTOR 16        /* floats */
#define POINT_MAXV 2           /* vectors a panel is wide, at most */
#define POINT_ROWS 14

/* c = a b + add: a (rows, k), b (k, 16 v) without gaps, c and add (rows, 16 v less what the mask
 * leaves out of the last vector).
 * add NULL: 0, and it may be c. */
struct point_tile {
	const float *a, *b, *add;
	float *c;
	int64_t k;
	int64_t a_row, a_next;       /* from row to row, and along k */
	int64_t add_row, c_row, wide;    /* wide: from the first vector to the second, in c and add */
	uint16_t mask;
};
typedef void point_tile_fn(const struct point_tile *t);
point_tile_fn *point_tile(int v, int rows);

/* to[r * to_step + c] = from[c][r], 16 x 16; NULL: zeros. */
void point_transpose(const float *const from[POINT_VECTOR], float *to, int64_t to_step);

#endif
