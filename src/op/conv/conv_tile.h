/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The innermost loops of the direct convolutions, for CPUs with AVX-512. A tile of sums stays in
 * registers; the operand along the vectors is called "wide", the one that is broadcast element by
 * element "tall". The last vector of the wide side may be partial: only the lanes in the mask are
 * read and count. */
#ifndef DLX_OP_CONV_CONV_TILE_H
#define DLX_OP_CONV_CONV_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TILE_VECTOR 16         /* floats */
#define TILE_MAXV 3            /* the most vectors across a tile */
#define TILE_MAXROWS 14
#define TILE_SEGMENTS 64

/* Whether this CPU can run the tiles. */
bool tile_supported(void);
/* The most rows of a tile of v vectors, limited by the registers. */
int tile_rows(int v);

/* The pixels to sum over: n segments of len pixels each. wide[i] and tall[i] point to element 0 of
 * segment i's first pixel. */
struct tile_pixels {
	int n;
	int64_t len;
	int64_t wide_step, tall_step;        /* elements from pixel to pixel */
	bool head;                           /* pairs: the first pixel is the second one of its pair */
	/* Elements from a pixel to the one to prefetch; 0: no prefetch. */
	int64_t wide_ahead, tall_ahead;
	const void *wide[TILE_SEGMENTS], *tall[TILE_SEGMENTS];
};

/* sum[r][c] += tall[r] * wide[c], summed over the pixels. sum is contiguous, rows x 16 v. wide_at
 * and tall_at are offsets that are added to all pointers. */
typedef void tile_outer_fn(const struct tile_pixels *p, int64_t wide_at, int64_t tall_at,
                           uint16_t mask, float *sum);
tile_outer_fn *tile_outer(int v, int rows);

/* The same for a wide side of bf16 and a tall side of bf16 pairs, as tile_pair() makes them.
 * tall_step is from pair to pair; two pixels are multiplied at a time. */
bool tile_bf16_supported(void);
tile_outer_fn *tile_outer_bf16(int v, int rows);

/* n pixels of bf16, `step` elements apart. Pixel i and pixel i + partner (0 past the end) form a
 * pair, for i = 0, every, 2 every, ...; each pair is a line of TILE_VECTOR words. */
struct tile_row {
	const uint16_t *from;
	int64_t step, n, every, partner;
	int channels;                /* at most TILE_VECTOR; further lanes are 0 */
};
void tile_pair(const struct tile_row *r, uint32_t *to);

#endif
