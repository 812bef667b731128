/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiles of every size, each compiled with its loops unrolled, so that the sums are registers. 28 of
 * the 32 registers hold sums; a step of a 14 x 2 tile is 2 loads, 14 broadcasts and 28 multiply-adds,
 * of which a core does 2 a cycle, as it does of loads. */
#include "op/conv_tile.h"

#include "base/err.h"
#include "base/simd.h"

int tile_rows(int v)
{
	return v == 3 ? 9 : TILE_MAXROWS;
}

#if SIMD_AVX512

#include <immintrin.h>

#define TILE static inline __attribute__((always_inline, target("avx512f")))

bool tile_supported(void)
{
	return __builtin_cpu_supports("avx512f") != 0;
}

/* One vector of the wide side; the last one of a tile may be partial. */
TILE __m512 load(const float *p, bool last, __mmask16 mask)
{
	return last ? _mm512_maskz_loadu_ps(mask, p) : _mm512_loadu_ps(p);
}

TILE void fetch(const float *p)
{
	_mm_prefetch((const char *)p, _MM_HINT_T1);
}

TILE void outer(const int nv, const int rows, const struct tile_pixels *p, int64_t wide_at,
                int64_t tall_at, __mmask16 mask, float *sum)
{
	__m512 s[TILE_MAXROWS][TILE_MAXV], w[TILE_MAXV];

	SIMD_UNROLL
	for (int r = 0; r < rows; r++)
		SIMD_UNROLL
		for (int v = 0; v < nv; v++)
			s[r][v] = _mm512_setzero_ps();
	for (int seg = 0; seg < p->n; seg++) {
		const float *wide = p->wide[seg] + wide_at, *tall = p->tall[seg] + tall_at;
		for (int64_t i = 0; i < p->len; i++) {
			SIMD_UNROLL
			for (int v = 0; v < nv; v++) {
				w[v] = load(wide + v * TILE_VECTOR, v == nv - 1, mask);
				fetch(wide + v * TILE_VECTOR + p->wide_ahead);
			}
			fetch(tall + p->tall_ahead);
			SIMD_UNROLL
			for (int r = 0; r < rows; r++) {
				const __m512 t = _mm512_set1_ps(tall[r]);
				SIMD_UNROLL
				for (int v = 0; v < nv; v++)
					s[r][v] = _mm512_fmadd_ps(w[v], t, s[r][v]);
			}
			wide += p->wide_step;
			tall += p->tall_step;
		}
	}
	SIMD_UNROLL
	for (int r = 0; r < rows; r++)
		SIMD_UNROLL
		for (int v = 0; v < nv; v++) {
			float *to = sum + (r * nv + v) * TILE_VECTOR;
			_mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), s[r][v]));
		}
}

#define OUTER(v, r)                                                                              \
	__attribute__((target("avx512f"))) static void outer_##v##_##r(                          \
		const struct tile_pixels *p, int64_t wide_at, int64_t tall_at, uint16_t mask,    \
		float *sum)                                                                      \
	{                                                                                        \
		outer(v, r, p, wide_at, tall_at, mask, sum);                                     \
	}
#define OUTER_1_TO_9(v)                                                                          \
	OUTER(v, 1) OUTER(v, 2) OUTER(v, 3) OUTER(v, 4) OUTER(v, 5) OUTER(v, 6) OUTER(v, 7)      \
	OUTER(v, 8) OUTER(v, 9)
#define OUTER_10_TO_14(v) OUTER(v, 10) OUTER(v, 11) OUTER(v, 12) OUTER(v, 13) OUTER(v, 14)

OUTER_1_TO_9(1)
OUTER_10_TO_14(1)
OUTER_1_TO_9(2)
OUTER_10_TO_14(2)
OUTER_1_TO_9(3)

#define NAMES_1_TO_9(f)                                                                          \
	f##_1, f##_2, f##_3, f##_4, f##_5, f##_6, f##_7, f##_8, f##_9
#define NAMES_10_TO_14(f) f##_10, f##_11, f##_12, f##_13, f##_14

static tile_outer_fn *const outers[TILE_MAXV][TILE_MAXROWS] = {
	{ NAMES_1_TO_9(outer_1), NAMES_10_TO_14(outer_1) },
	{ NAMES_1_TO_9(outer_2), NAMES_10_TO_14(outer_2) },
	{ NAMES_1_TO_9(outer_3) },
};

tile_outer_fn *tile_outer(int v, int rows)
{
	BUG_IF(v < 1 || v > TILE_MAXV || rows < 1 || rows > tile_rows(v), "no tile of %d x %d", v,
	       rows);
	return outers[v - 1][rows - 1];
}

#else

bool tile_supported(void)
{
	return false;
}

tile_outer_fn *tile_outer(int v, int rows)
{
	BUG("no tile of %d x %d on this CPU", v, rows);
}

#endif
