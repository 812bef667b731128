/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiles of every size, each compiled with unrolled loops, so that the sums are in registers. 28 of
 * the 32 registers hold sums. A step of a 14 x 2 tile takes 2 loads, 14 broadcasts and 28
 * multiply-adds; a core executes 2 multiply-adds, and 2 loads, in a cycle. */
#include "base/isa.h"
#include "op/conv/conv_tile_simd.h"

int tile_rows(int v)
{
	return v == 3 ? 9 : TILE_MAXROWS;
}

#if SIMD_AVX512

bool tile_supported(void)
{
	return isa_has(ISA_AVX512);
}

/* One vector of the wide side; the last one of a tile may be partial. */
TILE_INLINE __m512 load(const float *p, bool last, __mmask16 mask)
{
	return last ? _mm512_maskz_loadu_ps(mask, p) : _mm512_loadu_ps(p);
}

TILE_INLINE void fetch(const float *p)
{
	_mm_prefetch((const char *)p, _MM_HINT_T1);
}

TILE_INLINE void outer(const int nv, const int rows, const struct tile_pixels *p, int64_t wide_at,
                       int64_t tall_at, __mmask16 mask, float *sum)
{
	__m512 s[TILE_MAXROWS][TILE_MAXV], w[TILE_MAXV];

	tile_clear(nv, rows, s);
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
		tile_add_row(nv, s[r], sum + r * nv * TILE_VECTOR);
}

TILE_SIZES(tile_outer)

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
