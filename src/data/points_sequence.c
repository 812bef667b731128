/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sobol's sequence (1967) in the order of Gray codes (Antonov and Saleev, 1979): point i is the
 * exclusive or of the direction numbers of the bits of i ^ i >> 1, so that the next point costs one
 * operation a dimension and any point can be had alone. Primitive polynomials and first direction
 * numbers are those of Joe and Kuo (SIAM J. Sci. Comput. 30, 2008; the table new-joe-kuo-6.21201).
 * A draw is the sequence with a digital shift, an exclusive or with a random number for each
 * dimension, which keeps how evenly any 2^m points lie.
 *
 * A Latin hypercube of n points has one in each of n strata of each dimension. Which one is a
 * permutation of the strata by a keyed bijection of the next power of two, walked until it falls
 * below n; so no permutation is stored. */
#include "data/points_sequence.h"

#include <string.h>

#include "base/rng.h"

#define BITS 53
#define FRACTION 0x1p-53

/* From a stream for a set, streams for its purposes. */
enum { STREAM_VALUES, STREAM_SHIFT, STREAM_KEYS };

static uint64_t stream_of(uint64_t stream, int purpose)
{
	return stream * 4 + (uint64_t)purpose;
}

/* --- Sobol --- */

/* Of dimensions 2 and on; the first one is van der Corput's sequence. */
static const struct joe_kuo {
	uint8_t degree, polynomial, m[6];    /* polynomial: its coefficients but first and last */
} joe_kuo[POINTS_DIMS - 1] = {
	{ 1, 0, { 1 } },
	{ 2, 1, { 1, 3 } },
	{ 3, 1, { 1, 3, 1 } },
	{ 3, 2, { 1, 1, 1 } },
	{ 4, 1, { 1, 1, 3, 3 } },
	{ 4, 4, { 1, 3, 5, 13 } },
	{ 5, 2, { 1, 1, 5, 5, 17 } },
	{ 5, 4, { 1, 1, 5, 5, 5 } },
	{ 5, 7, { 1, 1, 7, 11, 19 } },
	{ 5, 11, { 1, 1, 5, 1, 1 } },
	{ 5, 13, { 1, 1, 1, 3, 11 } },
	{ 5, 14, { 1, 3, 5, 5, 31 } },
	{ 6, 1, { 1, 3, 3, 9, 7, 49 } },
	{ 6, 13, { 1, 1, 1, 15, 21, 21 } },
	{ 6, 16, { 1, 3, 1, 13, 27, 49 } },
};

static void directions(const struct joe_kuo *j, uint64_t v[BITS])
{
	const int s = j->degree;
	for (int b = 0; b < BITS; b++) {
		if (b < s) {
			v[b] = (uint64_t)j->m[b] << (BITS - 1 - b);
			continue;
		}
		v[b] = v[b - s] ^ v[b - s] >> s;
		for (int k = 1; k < s; k++)
			if (j->polynomial >> (s - 1 - k) & 1)
				v[b] ^= v[b - k];
	}
}

void points_sobol_directions(struct points_sequence *s)
{
	for (int b = 0; b < BITS; b++)
		s->direction[0][b] = (uint64_t)1 << (BITS - 1 - b);
	for (int d = 1; d < s->dims; d++)
		directions(&joe_kuo[d - 1], s->direction[d]);
	memset(s->shift, 0, sizeof s->shift);
}

static uint64_t word(const uint32_t *w)
{
	return (uint64_t)w[1] << 32 | w[0];
}

void points_sequence_begin(struct points_sequence *s)
{
	uint32_t w[4];
	if (s->kind != POINTS_SOBOL)
		return;
	points_sobol_directions(s);
	for (int d = 0; d < s->dims; d++) {
		rng_block(s->seed, stream_of(s->stream, STREAM_SHIFT), s->draw, (uint64_t)d, w);
		s->shift[d] = word(w) >> (64 - BITS);
	}
}

static void fill_sobol(const struct points_sequence *s, int64_t first, int64_t n, double *u)
{
	uint64_t x[POINTS_DIMS], gray = (uint64_t)first ^ (uint64_t)first >> 1;
	memcpy(x, s->shift, sizeof x);
	for (; gray; gray &= gray - 1)
		for (int d = 0; d < s->dims; d++)
			x[d] ^= s->direction[d][__builtin_ctzll(gray)];
	for (int64_t i = first + 1; i <= first + n; i++) {
		const int b = __builtin_ctzll((uint64_t)i);
		for (int d = 0; d < s->dims; d++) {
			*u++ = (double)x[d] * FRACTION;
			x[d] ^= s->direction[d][b];
		}
	}
}

/* --- uniform --- */

/* rng_uniforms wants an even first index. */
static void fill_uniform(const struct points_sequence *s, int64_t first, int64_t n, double *u)
{
	const uint64_t stream = stream_of(s->stream, STREAM_VALUES);
	int64_t from = first * s->dims, left = n * s->dims;
	if (from % 2 && left > 0) {
		*u++ = rng_uniform(s->seed, stream, s->draw, (uint64_t)from++);
		left--;
	}
	rng_uniforms(s->seed, stream, s->draw, from, left, u);
}

/* --- Latin hypercube --- */

void points_permute_key(uint64_t seed, uint64_t stream, uint64_t draw, int64_t of, uint64_t key[2])
{
	uint32_t w[4];
	rng_block(seed, stream_of(stream, STREAM_KEYS), draw, (uint64_t)of, w);
	key[0] = word(w);
	key[1] = word(w + 2);
}

/* Each statement is a bijection of the numbers 0 .. mask: an addition, a product with an odd
 * number, an exclusive or with the upper half. */
static uint64_t scramble(uint64_t x, uint64_t mask, int half, const uint64_t key[2])
{
	for (int round = 0; round < 4; round++) {
		const uint64_t k = key[round % 2];
		x = (x + (k >> 8 * round)) & mask;
		x ^= x >> half;
		x = x * ((k >> 4 * round << 1) | 1) & mask;
		x ^= x >> half;
		x = x * 0x9E3779B97F4A7C15 & mask;
	}
	return x ^ x >> half;
}

int64_t points_permute(int64_t i, int64_t n, const uint64_t key[2])
{
	const int bits = n > 2 ? 64 - __builtin_clzll((uint64_t)n - 1) : 1;
	const uint64_t mask = ((uint64_t)1 << bits) - 1;
	uint64_t x = (uint64_t)i;
	if (n == 1)
		return 0;
	do
		x = scramble(x, mask, (bits + 1) / 2, key);
	while (x >= (uint64_t)n);
	return (int64_t)x;
}

static void fill_latin(const struct points_sequence *s, int64_t first, int64_t n, double *u)
{
	uint64_t key[POINTS_DIMS][2];
	int64_t cube = -1;
	fill_uniform(s, first, n, u);
	for (int64_t i = first; i < first + n; i++) {
		if (i / s->count != cube) {
			cube = i / s->count;
			for (int d = 0; d < s->dims; d++)
				points_permute_key(s->seed, s->stream, s->draw, cube * s->dims + d, key[d]);
		}
		for (int d = 0; d < s->dims; d++, u++)
			*u = ((double)points_permute(i % s->count, s->count, key[d]) + *u) / (double)s->count;
	}
}

/* --- grid --- */

/* The last dimension varies fastest. A dimension with one point has it in the middle. */
static void fill_grid(const struct points_sequence *s, int64_t first, int64_t n, double *u)
{
	for (int64_t i = first; i < first + n; i++, u += s->dims) {
		int64_t left = i;
		for (int d = s->dims - 1; d >= 0; d--) {
			const int64_t all = s->grid[d];
			u[d] = all > 1 ? (double)(left % all) / (double)(all - 1) : 0.5;
			left /= all;
		}
	}
}

void points_sequence_fill(const struct points_sequence *s, int64_t first, int64_t n, double *u)
{
	static void (*const fill[])(const struct points_sequence *, int64_t, int64_t, double *) = {
		[POINTS_UNIFORM] = fill_uniform, [POINTS_SOBOL] = fill_sobol,
		[POINTS_LATIN_HYPERCUBE] = fill_latin, [POINTS_GRID] = fill_grid
	};
	if (s->dims > 0)
		fill[s->kind](s, first, n, u);
}
