/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Matrix products in float64, blocked as in Goto and van de Geijn (2008). b is packed once, in
 * panels as wide as a tile and DEPTH rows deep; a panel stays in the L1 cache. A task is a block of
 * rows of c. It packs its part of a in panels as high as a tile; these stay in the L2 cache. A tile
 * of c stays in registers while a panel of a is multiplied by a panel of b. The sum of each element
 * is computed in blocks of DEPTH terms, so it does not depend on the division into tasks. */
#include "op/dense_double.h"

#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "base/isa.h"
#include "base/round.h"
#include "base/simd.h"

#define DEPTH 128
#define ROWS 64                  /* rows of c in a task; a multiple of every tile's height */
#define MAX_TILE (8 * 24)
#define SERIAL (1 << 18)         /* multiply-adds that are too few to start threads */

/* sum (rows x columns, row-major) = a panel of a times a panel of b; `depth` terms. */
typedef void tile_fn(int64_t depth, const double *a, const double *b, double *sum);

struct tile {
	const char *name;
	int rows, columns;
	tile_fn *multiply;
};

/* --- tiles --- */

#define BASE_ROWS 4
#define BASE_COLUMNS 4

static void multiply_base(int64_t depth, const double *a, const double *b, double *sum)
{
	double s[BASE_ROWS][BASE_COLUMNS] = { { 0 } };
	for (int64_t l = 0; l < depth; l++, a += BASE_ROWS, b += BASE_COLUMNS)
		SIMD_UNROLL
		for (int i = 0; i < BASE_ROWS; i++)
			SIMD_UNROLL
			for (int j = 0; j < BASE_COLUMNS; j++)
				s[i][j] += a[i] * b[j];
	memcpy(sum, s, sizeof s);
}

static const struct tile tile_base = { "4x4", BASE_ROWS, BASE_COLUMNS, multiply_base };

#if SIMD_AVX512
#include <immintrin.h>

/* Updates `height` x 3 vectors of sums by one element of a and three vectors of b at a time. */
#define TILE(name, instructions, vector, lanes, height, load, store, broadcast, zero, fma)         \
	__attribute__((target(instructions))) static void name(int64_t depth, const double *a,         \
	                                                       const double *b, double *sum)           \
	{                                                                                              \
		vector s[height][3];                                                                       \
		SIMD_UNROLL                                                                                \
		for (int i = 0; i < height; i++)                                                           \
			s[i][0] = s[i][1] = s[i][2] = zero();                                                  \
		for (int64_t l = 0; l < depth; l++, a += height, b += 3 * lanes) {                         \
			const vector b0 = load(b), b1 = load(b + lanes), b2 = load(b + 2 * lanes);             \
			SIMD_UNROLL                                                                            \
			for (int i = 0; i < height; i++) {                                                     \
				const vector e = broadcast(a[i]);                                                  \
				s[i][0] = fma(e, b0, s[i][0]);                                                     \
				s[i][1] = fma(e, b1, s[i][1]);                                                     \
				s[i][2] = fma(e, b2, s[i][2]);                                                     \
			}                                                                                      \
		}                                                                                          \
		SIMD_UNROLL                                                                                \
		for (int i = 0; i < height; i++, sum += 3 * lanes) {                                       \
			store(sum, s[i][0]);                                                                   \
			store(sum + lanes, s[i][1]);                                                           \
			store(sum + 2 * lanes, s[i][2]);                                                       \
		}                                                                                          \
	}

TILE(multiply_avx2, "avx2,fma", __m256d, 4, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd,
     _mm256_setzero_pd, _mm256_fmadd_pd)
TILE(multiply_avx512, "avx512f", __m512d, 8, 8, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd,
     _mm512_setzero_pd, _mm512_fmadd_pd)

static const struct tile tile_avx2 = { "avx2:4x12", 4, 12, multiply_avx2 },
                         tile_avx512 = { "avx512:8x24", 8, 24, multiply_avx512 };

static const struct tile *tile_of_processor(void)
{
	return isa_has(ISA_AVX512) ? &tile_avx512 : isa_has(ISA_AVX2) ? &tile_avx2 : &tile_base;
}
#else
static const struct tile *tile_of_processor(void)
{
	return &tile_base;
}
#endif

const char *dense_double_name(void)
{
	return tile_of_processor()->name;
}

/* --- panels --- */

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

size_t dense_double_workspace(const struct dense_double *p)
{
	const int64_t width = tile_of_processor()->columns;
	return (size_t)(p->k * ceil_div(p->n, width) * width) * sizeof(double);
}

/* Packs a panel: for each of `depth` steps, `step` elements apart, `count` elements that are
 * `stride` apart, followed by zeros up to `size`. */
static void pack(double *to, int64_t size, int64_t count, int64_t stride, const double *from,
                 int64_t depth, int64_t step)
{
	for (int64_t l = 0; l < depth; l++, to += size, from += step) {
		if (stride == 1)
			memcpy(to, from, (size_t)count * sizeof *to);
		for (int64_t i = 0; i < count && stride != 1; i++)
			to[i] = from[i * stride];
		for (int64_t i = count; i < size; i++)
			to[i] = 0;
	}
}

/* Packs panel j of b (k rows) to its place in ws, in blocks of DEPTH rows. */
static void pack_b(const struct dense_double *p, const double *b, int64_t width, int64_t j,
                   double *ws)
{
	pack(ws + j * width * p->k, width, min64(width, p->n - j * width), p->b_stride[1],
	     b + j * width * p->b_stride[1], p->k, p->b_stride[0]);
}

/* --- blocks --- */

/* Adds a tile's sums to c; the first block of terms overwrites c. */
static void add_tile(double *c, int64_t ld, const double *sum, const struct tile *t, int64_t rows,
                     int64_t columns, bool first, const double *bias)
{
	for (int64_t i = 0; i < rows; i++, c += ld, sum += t->columns) {
		if (!first)
			for (int64_t j = 0; j < columns; j++)
				c[j] += sum[j];
		else if (bias)
			for (int64_t j = 0; j < columns; j++)
				c[j] = bias[j] + sum[j];
		else
			memcpy(c, sum, (size_t)columns * sizeof *c);
	}
}

/* Rows row .. row + rows - 1 of c, panels first .. last - 1 of b. */
static void run_block(const struct dense_double *p, const struct tile *t, const double *a,
                      const double *bias, double *c, const double *ws, int64_t row, int64_t rows,
                      int64_t first, int64_t last)
{
	_Alignas(64) double panel[ROWS * DEPTH], sum[MAX_TILE];
	for (int64_t l = 0; l < p->k; l += DEPTH) {
		const int64_t depth = min64(DEPTH, p->k - l);
		for (int64_t i = 0; i < rows; i += t->rows)
			pack(panel + i * depth, t->rows, min64(t->rows, rows - i), p->a_stride[0],
			     a + (row + i) * p->a_stride[0] + l * p->a_stride[1], depth, p->a_stride[1]);
		for (int64_t j = first; j < last; j++) {
			const double *b = ws + j * t->columns * p->k + l * t->columns;
			const int64_t column = j * t->columns;
			for (int64_t i = 0; i < rows; i += t->rows) {
				t->multiply(depth, panel + i * depth, b, sum);
				add_tile(c + (row + i) * p->n + column, p->n, sum, t, min64(t->rows, rows - i),
				         min64(t->columns, p->n - column), l == 0, bias ? bias + column : NULL);
			}
		}
	}
}

void dense_double_run(const struct dense_double *p, const double *a, const double *b,
                      const double *bias, double *c, double *ws)
{
	const struct tile *t = tile_of_processor();
	const int64_t panels = ceil_div(p->n, t->columns), blocks = ceil_div(p->m, ROWS);
	/* With few blocks of rows, tasks also divide the panels of b. */
	const int64_t parts = min64(panels, ceil_div(omp_get_max_threads(), blocks));
	const bool large = p->m * p->n * p->k > SERIAL;
#pragma omp parallel if (large)
	{
#pragma omp for schedule(static)
		for (int64_t j = 0; j < panels; j++)
			pack_b(p, b, t->columns, j, ws);
#pragma omp for schedule(static)
		for (int64_t i = 0; i < blocks * parts; i++) {
			const int64_t row = i / parts * ROWS, part = i % parts;
			run_block(p, t, a, bias, c, ws, row, min64(ROWS, p->m - row), panels * part / parts,
			          panels * (part + 1) / parts);
		}
	}
}
