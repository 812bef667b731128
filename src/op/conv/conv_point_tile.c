/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 28 of the 32 registers hold sums. Each element of a row of b takes 2 loads, 14 broadcasts and 28
 * multiply-adds; a core executes 2 multiply-adds, and 2 loads, in a cycle. Rows of a are addressed
 * in threes from five pointers, since there are not enough registers for fourteen. */
#include "op/conv/conv_point_tile.h"

#include "base/err.h"
#include "base/simd.h"

#if SIMD_AVX512

#include <immintrin.h>

#define POINT_INLINE static inline __attribute__((always_inline, target("avx512f")))
#define THREES ((POINT_ROWS + 2) / 3)

POINT_INLINE void multiply(const int nv, const int rows, const struct point_tile *t,
                           __m512 s[][POINT_MAXV])
{
	const int64_t step = t->a_row;
	const float *a[THREES], *b = t->b;
	SIMD_UNROLL
	for (int i = 0; i < THREES; i++)
		a[i] = t->a + 3 * i * step;
	for (int64_t k = 0; k < t->k; k++, b += nv * POINT_VECTOR) {
		__m512 w[POINT_MAXV];
		SIMD_UNROLL
		for (int v = 0; v < nv; v++)
			w[v] = _mm512_loadu_ps(b + v * POINT_VECTOR);
		SIMD_UNROLL
		for (int r = 0; r < rows; r++) {
			const __m512 x = _mm512_set1_ps(a[r / 3][r % 3 * step]);
			SIMD_UNROLL
			for (int v = 0; v < nv; v++)
				s[r][v] = _mm512_fmadd_ps(w[v], x, s[r][v]);
		}
		SIMD_UNROLL
		for (int i = 0; i < THREES; i++)
			a[i] += t->a_next;
	}
}

POINT_INLINE void tile(const int nv, const int rows, const struct point_tile *t)
{
	__m512 s[POINT_ROWS][POINT_MAXV];

	SIMD_UNROLL
	for (int r = 0; r < rows; r++)
		SIMD_UNROLL
		for (int v = 0; v < nv; v++)
			s[r][v] = _mm512_setzero_ps();
	multiply(nv, rows, t, s);
	SIMD_UNROLL
	for (int r = 0; r < rows; r++)
		SIMD_UNROLL
		for (int v = 0; v < nv; v++) {
			const __mmask16 m = v == nv - 1 ? t->mask : 0xFFFF;
			if (t->add)
				s[r][v] = _mm512_add_ps(
						s[r][v], _mm512_maskz_loadu_ps(m, t->add + r * t->add_row + v * t->wide));
			_mm512_mask_storeu_ps(t->c + r * t->c_row + v * t->wide, m, s[r][v]);
		}
}

#define TILE(v, r)                                                                              \
	__attribute__((target("avx512f"))) static void tile_##v##_##r(const struct point_tile *t)   \
	{                                                                                           \
		tile(v, r, t);                                                                          \
	}
#define TILES(v)                                                                            \
	TILE(v, 1) TILE(v, 2) TILE(v, 3) TILE(v, 4) TILE(v, 5) TILE(v, 6) TILE(v, 7) TILE(v, 8) \
	TILE(v, 9)                                                                              \
	TILE(v, 10) TILE(v, 11) TILE(v, 12) TILE(v, 13) TILE(v, 14)
#define NAMES(v)                                                                                \
	{ tile_##v##_1, tile_##v##_2, tile_##v##_3, tile_##v##_4, tile_##v##_5, tile_##v##_6,       \
	  tile_##v##_7,                                                                             \
	  tile_##v##_8, tile_##v##_9, tile_##v##_10, tile_##v##_11, tile_##v##_12, tile_##v##_13,   \
	  tile_##v##_14 }

TILES(1)
TILES(2)

point_tile_fn *point_tile(int v, int rows)
{
	static point_tile_fn *const tiles[POINT_MAXV][POINT_ROWS] = { NAMES(1), NAMES(2) };
	BUG_IF(v < 1 || v > POINT_MAXV || rows < 1 || rows > POINT_ROWS, "no tile of %d x %d", v, rows);
	return tiles[v - 1][rows - 1];
}

/* Four steps of interleaving pairs of lines: by elements, by pairs of elements, and twice by
 * quarters of a line. */
__attribute__((target("avx512f")))
void point_transpose(const float *const from[POINT_VECTOR], float *to, int64_t to_step)
{
	__m512 a[16], b[16];

	SIMD_UNROLL
	for (int i = 0; i < 16; i++)
		a[i] = from[i] ? _mm512_loadu_ps(from[i]) : _mm512_setzero_ps();
	SIMD_UNROLL
	for (int i = 0; i < 16; i += 2) {
		b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
		b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
	}
	SIMD_UNROLL
	for (int i = 0; i < 16; i += 4)
		SIMD_UNROLL
		for (int j = 0; j < 2; j++) {
			const __m512d x = _mm512_castps_pd(b[i + j]), y = _mm512_castps_pd(b[i + 2 + j]);
			a[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y));
			a[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
		}
	SIMD_UNROLL
	for (int i = 0; i < 16; i += 8)
		SIMD_UNROLL
		for (int j = 0; j < 4; j++) {
			b[i + j] = _mm512_shuffle_f32x4(a[i + j], a[i + 4 + j], 0x88);
			b[i + 4 + j] = _mm512_shuffle_f32x4(a[i + j], a[i + 4 + j], 0xDD);
		}
	SIMD_UNROLL
	for (int j = 0; j < 8; j++) {
		_mm512_storeu_ps(to + j * to_step, _mm512_shuffle_f32x4(b[j], b[8 + j], 0x88));
		_mm512_storeu_ps(to + (j + 8) * to_step, _mm512_shuffle_f32x4(b[j], b[8 + j], 0xDD));
	}
}

#else

point_tile_fn *point_tile(int v, int rows)
{
	BUG("no tile of %d x %d on this CPU", v, rows);
}

void point_transpose(const float *const from[POINT_VECTOR], float *to, int64_t to_step)
{
	BUG("no vectors of %d on this CPU", POINT_VECTOR);
}

#endif
