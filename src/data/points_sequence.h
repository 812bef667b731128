/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sequences of points in the unit cube, which points_region.h maps to sets. A point is a pure
 * function of (seed, stream, draw, index), so that ranks can draw a part each and a resumed run
 * draws the same again. Private to data/points*. */
#ifndef DLX_DATA_POINTS_SEQUENCE_H
#define DLX_DATA_POINTS_SEQUENCE_H

#include <stdint.h>

#define POINTS_DIMS 16                   /* most axes of a set of points */

enum points_kind { POINTS_UNIFORM, POINTS_SOBOL, POINTS_LATIN_HYPERCUBE, POINTS_GRID };

struct points_sequence {
	/* Set before points_sequence_begin. */
	enum points_kind kind;
	int dims;                            /* 0: points without coordinates */
	int64_t count;                       /* number of strata of a Latin hypercube; its points repeat
	                                      * after that many */
	int64_t grid[POINTS_DIMS];           /* for a grid: points along each dimension */
	uint64_t seed, stream, draw;
	/* Set by points_sequence_begin. */
	uint64_t direction[POINTS_DIMS][53]; /* direction numbers of Sobol's sequence; bit 52 stands for
	                                      * 1/2 */
	uint64_t shift[POINTS_DIMS];
};

void points_sequence_begin(struct points_sequence *s);
/* Computes the points first .. first + n - 1, u (n, dims), in [0, 1); for a grid in [0, 1]. */
void points_sequence_fill(const struct points_sequence *s, int64_t first, int64_t n, double *u);

/* The image of i under a pseudo-random permutation of 0..n-1 that the key selects. It needs no
 * memory. */
int64_t points_permute(int64_t i, int64_t n, const uint64_t key[2]);
/* A key for points_permute: number `of` for (seed, stream, draw). */
void points_permute_key(uint64_t seed, uint64_t stream, uint64_t draw, int64_t of,
                        uint64_t key[2]);

/* The direction numbers without a shift, for tests. */
void points_sobol_directions(struct points_sequence *s);

#endif
