/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The innermost loops of the direct convolutions, for CPUs with AVX-512: a tile of sums stays in
 * registers, one side of it along vectors ("wide"), the other one broadcast element by element
 * ("tall"). Any part of a vector may be missing at the wide end: the mask's lanes alone are read
 * and count. */
#ifndef DLX_OP_CONV_CONV_TILE_H
#define DLX_OP_CONV_CONV_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TILE_VECTOR 16         /* floats */
#define TILE_MAXV 3            /* vectors a tile is wide, at most */
#define TILE_MAXROWS 14
#define TILE_SEGMENTS 64

/* Whether this CPU can run the tiles. */
bool tile_supported(void);
/* Rows a tile of v vectors can have: what the registers hold. */
int tile_rows(int v);

/* Pixels to sum over: n segments of len pixels each; both sides at element 0 of their first. */
struct tile_pixels {
	int n;
	int64_t len;
	int64_t wide_step, tall_step;        /* from pixel to pixel */
	bool head;                           /* pairs: the first pixel is the second one of its pair */
	/* Distance of a pixel to prefetch; 0: none. */
	int64_t wide_ahead, tall_ahead;
	const void *wide[TILE_SEGMENTS], *tall[TILE_SEGMENTS];
};

/* sum[r][c] += over the pixels, tall[r] * wide[c]; sum is dense, rows x 16 v. wide_at, tall_at are
 * added to all pointers. */
typedef void tile_outer_fn(const struct tile_pixels *p, int64_t wide_at, int64_t tall_at,
                           uint16_t mask, float *sum);
tile_outer_fn *tile_outer(int v, int rows);

/* The same for a wide side of bf16 and a tall side of pairs of bf16, which tile_pair() has made:
 * tall_step is from pair to pair, and pixels are taken two at a time. */
bool tile_bf16_supported(void);
tile_outer_fn *tile_outer_bf16(int v, int rows);

/* n pixels of bf16, `step` from one to the next. Pairs are made of pixel i and its partner, so many
 * pixels on (0 past the end), for i = 0, every, 2 every, ...: a line of TILE_VECTOR each. */
struct tile_row {
	const uint16_t *from;
	int64_t step, n, every, partner;
	int channels;                /* up to TILE_VECTOR; the others are 0 */
};
void tile_pair(const struct tile_row *r, uint32_t *to);

#endif
