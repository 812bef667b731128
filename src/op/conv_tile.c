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
		const float *wide = (const float *)p->wide[seg] + wide_at;
		const float *tall = (const float *)p->tall[seg] + tall_at;
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
TILE_ALL(OUTER)

static tile_outer_fn *const outers[TILE_MAXV][TILE_MAXROWS] = TILE_TABLE(outer);

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
