/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the tiles of all types: the initial sums in registers, their store to memory, and one
 * function for every tile size. A file that includes this defines outer() and, optionally,
 * TILE_TARGET, the instruction set to compile for. */
#ifndef DLX_OP_CONV_CONV_TILE_SIMD_H
#define DLX_OP_CONV_CONV_TILE_SIMD_H

#include "base/err.h"
#include "base/simd.h"
#include "op/conv/conv_tile.h"

#if SIMD_AVX512

#include <immintrin.h>

#ifndef TILE_TARGET
#define TILE_TARGET "avx512f"
#endif
#define TILE_INLINE static inline __attribute__((always_inline, target(TILE_TARGET)))

TILE_INLINE void tile_clear(const int nv, const int rows, __m512 s[][TILE_MAXV])
{
	SIMD_UNROLL
	for (int r = 0; r < rows; r++)
		SIMD_UNROLL
		for (int v = 0; v < nv; v++)
			s[r][v] = _mm512_setzero_ps();
}

TILE_INLINE void tile_add_row(const int nv, const __m512 *s, float *to)
{
	SIMD_UNROLL
	for (int v = 0; v < nv; v++, to += TILE_VECTOR)
		_mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), s[v]));
}

#define TILE_OUTER(v, r)                                                                         \
	__attribute__((target(TILE_TARGET))) static void outer_##v##_##r(                        \
		const struct tile_pixels *p, int64_t wide_at, int64_t tall_at, uint16_t mask,    \
		float *sum)                                                                      \
	{                                                                                        \
		outer(v, r, p, wide_at, tall_at, mask, sum);                                     \
	}
#define TILE_1_TO_9(v)                                                                           \
	TILE_OUTER(v, 1) TILE_OUTER(v, 2) TILE_OUTER(v, 3) TILE_OUTER(v, 4) TILE_OUTER(v, 5)     \
	TILE_OUTER(v, 6) TILE_OUTER(v, 7) TILE_OUTER(v, 8) TILE_OUTER(v, 9)
#define TILE_10_TO_14(v)                                                                         \
	TILE_OUTER(v, 10) TILE_OUTER(v, 11) TILE_OUTER(v, 12) TILE_OUTER(v, 13) TILE_OUTER(v, 14)
#define TILE_NAMES_9(v)                                                                          \
	outer_##v##_1, outer_##v##_2, outer_##v##_3, outer_##v##_4, outer_##v##_5,               \
	outer_##v##_6, outer_##v##_7, outer_##v##_8, outer_##v##_9
#define TILE_NAMES_14(v)                                                                         \
	outer_##v##_10, outer_##v##_11, outer_##v##_12, outer_##v##_13, outer_##v##_14

/* Defines the function `name`, which returns outer() for a tile size. */
#define TILE_SIZES(name)                                                                         \
	TILE_1_TO_9(1) TILE_10_TO_14(1) TILE_1_TO_9(2) TILE_10_TO_14(2) TILE_1_TO_9(3)           \
	tile_outer_fn *name(int v, int rows)                                                     \
	{                                                                                        \
		static tile_outer_fn *const outers[TILE_MAXV][TILE_MAXROWS] = {                  \
			{ TILE_NAMES_9(1), TILE_NAMES_14(1) },                                   \
			{ TILE_NAMES_9(2), TILE_NAMES_14(2) },                                   \
			{ TILE_NAMES_9(3) },                                                     \
		};                                                                               \
		BUG_IF(v < 1 || v > TILE_MAXV || rows < 1 || rows > tile_rows(v),                \
		       "no tile of %d x %d", v, rows);                                           \
		return outers[v - 1][rows - 1];                                                  \
	}

#endif
#endif
