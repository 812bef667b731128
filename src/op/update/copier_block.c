/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of weights in plain C, and with AVX-512 for transpositions, which compilers do not
 * vectorize by themselves. Rounding is as in base/half.h. The result is not read before the next
 * step, so it is written with non-temporal stores. */
#include "op/update/copier_block.h"

#include <string.h>

#include "base/isa.h"
#include "op/lib/simd.h"

#if SIMD_AVX512
#include <immintrin.h>
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define INLINE static inline __attribute__((always_inline)) TARGET
#endif

/* --- anywhere --- */

static void rows_bf16(const struct copier_block *b, void *to)
{
	for (int r = 0; r < b->n; r++)
		for (int k = 0; k < 16; k++)
			((uint16_t *)to)[b->to_at[r] + k] = simd_bfloat(b->from[r * b->from_step + k]);
}

static void rows_float(const struct copier_block *b, void *to)
{
	for (int r = 0; r < b->n; r++)
		memcpy((float *)to + b->to_at[r], b->from + r * b->from_step, 16 * sizeof(float));
}

static void pairs_bf16(const struct copier_block *b, void *to)
{
	for (int r = 0; r < 2 * b->n; r++)
		for (int k = 0; k < 16; k++)
			((uint16_t *)to)[b->to_at[r / 2] + 2 * k + r % 2] =
				simd_bfloat(b->from[r * b->from_step + k]);
}

static void transposed_bf16(const struct copier_block *b, void *to)
{
	for (int k = 0; k < 2 * b->n; k++)
		for (int r = 0; r < 16; r++)
			((uint16_t *)to)[b->to_at[k / 2] + 2 * r + k % 2] =
				simd_bfloat(b->from[r * b->from_step + k]);
}

static void columns_bf16(const struct copier_block *b, void *to)
{
	for (int k = 0; k < b->n; k++)
		for (int r = 0; r < 16; r++)
			((uint16_t *)to)[b->to_at[k] + r] = simd_bfloat(b->from[r * b->from_step + k]);
}

static void columns_float(const struct copier_block *b, void *to)
{
	for (int k = 0; k < b->n; k++)
		for (int r = 0; r < 16; r++)
			((float *)to)[b->to_at[k] + r] = b->from[r * b->from_step + k];
}

/* --- AVX-512 --- */

#if SIMD_AVX512
/* x rounded to bfloat16, in the low halves of 16 words. */
INLINE __m512i rounded(const float *x)
{
	const __m512i u = _mm512_loadu_si512(x),
	              odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
	const __m512i up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7FFF)), odd);
	const __mmask16 nan = _mm512_cmpgt_epu32_mask(
			_mm512_and_si512(u, _mm512_set1_epi32(0x7FFFFFFF)), _mm512_set1_epi32(0x7F800000));
	return _mm512_srli_epi32(_mm512_mask_or_epi32(up, nan, u, _mm512_set1_epi32(0x400000)), 16);
}

INLINE void put(void *to, __m512i v)
{
	if ((uintptr_t)to % 64)
		_mm512_storeu_si512(to, v);
	else
		_mm512_stream_si512(to, v);
}

TARGET static void pairs_bf16_avx512(const struct copier_block *b, void *to)
{
	for (int r = 0; r < 2 * b->n; r += 2) {
		const __m512i even = rounded(b->from + r * b->from_step),
		              odd = rounded(b->from + (r + 1) * b->from_step);
		put((uint16_t *)to + b->to_at[r / 2], _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
	}
}

/* Row r as 8 pairs of numbers, followed by those of row r + 8. */
INLINE __m512i paired(const struct copier_block *b, int r)
{
	const __m512i first = rounded(b->from + r * b->from_step),
	              second = rounded(b->from + (r + 8) * b->from_step);
	const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26,
	                                       28, 30);
	const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27,
	                                      29, 31);
	return _mm512_or_si512(_mm512_permutex2var_epi32(first, even, second),
	                       _mm512_slli_epi32(_mm512_permutex2var_epi32(first, odd, second), 16));
}

/* One step of a transposition: exchanges bit q of the vector's number (set for y, clear for x) with
 * the bit of the element's place in the vector. */
INLINE void exchange(__m512i *x, __m512i *y, int q)
{
	const __m512i place = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
	              bit = _mm512_set1_epi32(q);
	const __mmask16 set = _mm512_test_epi32_mask(place, bit);
	const __m512i to_y = _mm512_set1_epi32(16);
	const __m512i low = _mm512_mask_add_epi32(place, set, _mm512_xor_si512(place, bit), to_y);
	const __m512i high = _mm512_mask_add_epi32(_mm512_or_si512(place, bit), set, place, to_y);
	const __m512i was = *x;
	*x = _mm512_permutex2var_epi32(was, low, *y);
	*y = _mm512_permutex2var_epi32(was, high, *y);
}

/* Vector r holds rows r and r + 8 as 8 pairs each, so that after three exchanges vector j holds
 * column pair j, with its rows in order. */
TARGET static void transposed_bf16_avx512(const struct copier_block *b, void *to)
{
	__m512i v[8];
	SIMD_UNROLL
	for (int r = 0; r < 8; r++)
		v[r] = paired(b, r);
	SIMD_UNROLL
	for (int i = 0; i < 8; i += 2)
		exchange(&v[i], &v[i + 1], 1);
	SIMD_UNROLL
	for (int i = 0; i < 8; i++)
		if (!(i & 2))
			exchange(&v[i], &v[i + 2], 2);
	SIMD_UNROLL
	for (int i = 0; i < 4; i++)
		exchange(&v[i], &v[i + 4], 4);
	for (int j = 0; j < b->n; j++)
		put((uint16_t *)to + b->to_at[j], v[j]);
}

TARGET static void columns_float_avx512(const struct copier_block *b, void *to)
{
	__m512i v[16];
	SIMD_UNROLL
	for (int r = 0; r < 16; r++)
		v[r] = _mm512_loadu_si512(b->from + r * b->from_step);
	SIMD_UNROLL
	for (int q = 1; q < 16; q *= 2)
		SIMD_UNROLL
		for (int i = 0; i < 16; i++)
			if (!(i & q))
				exchange(&v[i], &v[i + q], q);
	for (int j = 0; j < b->n; j++)
		put((float *)to + b->to_at[j], v[j]);
}

#endif

copier_block_fn *copier_block_of(enum copier_form form, bool bf16)
{
#if SIMD_AVX512
	if (isa_has(ISA_AVX512) && form == COPIER_PAIRS && bf16)
		return pairs_bf16_avx512;
	if (isa_has(ISA_AVX512) && form == COPIER_TRANSPOSED && bf16)
		return transposed_bf16_avx512;
	if (isa_has(ISA_AVX512) && form == COPIER_COLUMNS && !bf16)
		return columns_float_avx512;
#endif
	switch (form) {
	case COPIER_ROWS: return bf16 ? rows_bf16 : rows_float;
	case COPIER_PAIRS: return bf16 ? pairs_bf16 : NULL;
	case COPIER_TRANSPOSED: return bf16 ? transposed_bf16 : NULL;
	default: return bf16 ? columns_bf16 : columns_float;
	}
}
