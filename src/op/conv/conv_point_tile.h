/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The innermost loops of a matrix product whose second matrix is packed in panels, for CPUs with
 * AVX-512: one tile of the result, and the transposition of a square block during packing. */
#ifndef DLX_OP_CONV_CONV_POINT_TILE_H
#define DLX_OP_CONV_CONV_POINT_TILE_H

#include <stdint.h>

#define POINT_VECTOR 16        /* floats */
#define POINT_MAXV 2           /* the most vectors across a panel */
#define POINT_ROWS 14

/* c = a b + add: a is (rows, k); b is (k, 16 v), contiguous; c and add are (rows, 16 v), except the
 * columns of the last vector that the mask excludes. add: NULL means 0; it may be c. */
struct point_tile {
	const float *a, *b, *add;
	float *c;
	int64_t k;
	int64_t a_row, a_next;       /* elements from row to row, and from column to column of a */
	int64_t add_row, c_row, wide;    /* elements from row to row; wide: from the first vector to the
	                                  * second, in c and add */
	uint16_t mask;
};
typedef void point_tile_fn(const struct point_tile *t);
point_tile_fn *point_tile(int v, int rows);

/* Transposes 16 x 16 floats: to[r * to_step + c] = from[c][r]. A NULL row reads as zeros. */
void point_transpose(const float *const from[POINT_VECTOR], float *to, int64_t to_step);

#endif
