/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sequences of points in the unit cube, which points_region.h maps to sets. A point is a pure
 * function of (seed, stream, draw, index), so that ranks can draw a part each and a resumed run
 * draws the same again. Private to data/points*. */
#ifndef DLX_DATA_POINTS_SEQUENCE_H
#define DLX_DATA_POINTS_SEQUENCE_H

#include <stdint.h>

#define POINTS_DIMS 16                   /* most axes of a set */

enum points_kind { POINTS_UNIFORM, POINTS_SOBOL, POINTS_LATIN_HYPERCUBE, POINTS_GRID };

struct points_sequence {
	/* Set before points_sequence_begin. */
	enum points_kind kind;
	int dims;                            /* 0: points without coordinates */
	int64_t count;                       /* strata of a Latin hypercube, after which it repeats */
	int64_t grid[POINTS_DIMS];           /* of a grid: points along each dimension */
	uint64_t seed, stream, draw;
	/* Set by it. */
	uint64_t direction[POINTS_DIMS][53]; /* of Sobol's sequence; bit 52 is a half */
	uint64_t shift[POINTS_DIMS];
};

void points_sequence_begin(struct points_sequence *s);
/* The points first .. first + n - 1 into u (n, dims): in [0, 1), of a grid in [0, 1]. */
void points_sequence_fill(const struct points_sequence *s, int64_t first, int64_t n, double *u);

/* Where i is in a permutation of 0..n-1, which the key chooses; no memory is needed for it. */
int64_t points_permute(int64_t i, int64_t n, const uint64_t key[2]);
/* A key for it: number `of` of (seed, stream, draw). */
void points_permute_key(uint64_t seed, uint64_t stream, uint64_t draw, int64_t of,
                        uint64_t key[2]);

/* The direction numbers without a shift, for tests. */
void points_sobol_directions(struct points_sequence *s);

#endif
