/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one-dimensional transforms of Winograd convolution, on vectors of 16 channels.
 *
 * A correlation of m outputs with r taps is an interpolation of a product of polynomials: evaluate
 * both at alpha - 1 = m + r - 2 points and at infinity, multiply, come back. With V the points'
 * Vandermonde matrix and N_j the product of all differences p_j - p_k, y = V_m^T ((V_r / N) g . B
 * d) where row j of B holds the coefficients of prod_{k != j} (x - p_k). So there are three
 * transforms: B, evaluation (V) and its transpose, the latter two scaled by 1 / N or not.
 *
 * The points decide how much rounding is amplified. alpha 6: 0, 1, -1, 1/2, -2, whose differences
 * are nearer to 1 than those of 0, +-1, +-2 (half the error); alpha 8: 0, +-1, +-2, +-1/2. */
#ifndef DLX_OP_WINOGRAD_WINOGRAD_SIMD_H
#define DLX_OP_WINOGRAD_WINOGRAD_SIMD_H

#include "op/winograd/winograd.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define WINO_TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma")))
#define WINO_INLINE static inline __attribute__((always_inline)) WINO_TARGET
#if defined(__clang__)
#define WINO_UNROLL _Pragma("unroll")
#else
#define WINO_UNROLL _Pragma("GCC unroll 16")
#endif

typedef __m512 vec;

WINO_INLINE vec v_set(float f)
{
	return _mm512_set1_ps(f);
}

/* a + f b */
WINO_INLINE vec v_fma(vec a, float f, vec b)
{
	return _mm512_fmadd_ps(v_set(f), b, a);
}

WINO_INLINE vec v_add(vec a, vec b)
{
	return _mm512_add_ps(a, b);
}

WINO_INLINE vec v_sub(vec a, vec b)
{
	return _mm512_sub_ps(a, b);
}

WINO_INLINE vec v_scale(float f, vec b)
{
	return f == 1 ? b : _mm512_mul_ps(v_set(f), b);
}

/* 16 elements of float32 or bf16. Those outside the mask load as 0 and are not stored. Rounding is
 * as in base/half.h. */
WINO_INLINE vec v_load(const void *p, bool bf16, __mmask16 mask)
{
	if (!bf16)
		return _mm512_maskz_loadu_ps(mask, p);
	const __m512i u = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, p));
	return _mm512_castsi512_ps(_mm512_slli_epi32(u, 16));
}

WINO_INLINE void v_store(void *p, bool bf16, __mmask16 mask, vec v)
{
	if (!bf16) {
		_mm512_mask_storeu_ps(p, mask, v);
		return;
	}
	const __m512i u = _mm512_castps_si512(v), one = _mm512_set1_epi32(1);
	const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), one);
	const __m512i near = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7FFF)), odd);
	const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
	const __m512i all = _mm512_mask_or_epi32(near, nan, u, _mm512_set1_epi32(0x400000));
	_mm256_mask_storeu_epi16(p, mask, _mm512_cvtepi32_epi16(_mm512_srli_epi32(all, 16)));
}

/* The finite interpolation points: 0, then `pairs` of +-p, then single points. */
struct wino_points {
	int pairs, singles;
	float pair[3], single[2];
	float inverse[7];         /* 1 / N_j in the order of the transformed values */
};

static const struct wino_points wino_points6 = {
	1, 2, { 1 }, { 0.5f, -2 },
	{ 1, 1.0f / 3, -1.0f / 3, -16.0f / 15, 1.0f / 15 }
};

static const struct wino_points wino_points8 = {
	3, 0, { 1, 2, 0.5f }, { 0 },
	{ 1, -2.0f / 9, -2.0f / 9, 1.0f / 90, 1.0f / 90, 32.0f / 45, 32.0f / 45 }
};

WINO_INLINE const struct wino_points *points(int alpha)
{
	return alpha == 6 ? &wino_points6 : &wino_points8;
}

WINO_INLINE float power(float p, int k)
{
	float f = 1;
	WINO_UNROLL
	for (int i = 0; i < k; i++)
		f *= p;
	return f;
}

/* out = B d for the points of alpha 6. */
WINO_INLINE void basis6(const vec *d, vec *out)
{
	const vec u = v_sub(d[4], d[2]), v = v_sub(d[3], d[1]);
	const vec e = v_fma(u, 1.5f, d[3]), o = v_fma(v, 1.5f, d[2]);
	out[0] = v_fma(v_fma(v_add(d[0], d[4]), -2, d[2]), 1.5f, v);
	out[1] = v_add(e, o);
	out[2] = v_sub(e, o);
	out[3] = v_fma(u, 2, v);
	out[4] = v_fma(u, -0.5f, v);
	out[5] = v_fma(v_fma(v_add(d[1], d[5]), -2, d[3]), 1.5f, u);
}

/* Row 0 has the opposite sign, so that N_0 is 1 instead of -1. */
WINO_INLINE void basis8(const vec *d, vec *out)
{
	const vec e1 = v_fma(v_add(d[2], d[6]), -4.25f, d[4]);
	const vec o1 = v_fma(v_add(d[1], d[5]), -4.25f, d[3]);
	const vec e2 = v_fma(v_fma(d[6], 0.25f, d[2]), -1.25f, d[4]);
	const vec o2 = v_fma(v_fma(v_scale(2, d[5]), 0.5f, d[1]), -2.5f, d[3]);
	const vec e3 = v_fma(v_fma(d[6], 4, d[2]), -5, d[4]);
	const vec o3 = v_fma(v_fma(v_scale(0.5f, d[5]), 2, d[1]), -2.5f, d[3]);
	out[0] = v_fma(v_sub(d[0], d[6]), 5.25f, v_sub(d[4], d[2]));
	out[1] = v_add(e1, o1);
	out[2] = v_sub(e1, o1);
	out[3] = v_add(e2, o2);
	out[4] = v_sub(e2, o2);
	out[5] = v_add(e3, o3);
	out[6] = v_sub(e3, o3);
	out[7] = v_fma(v_sub(d[7], d[1]), 5.25f, v_sub(d[3], d[5]));
}

WINO_INLINE void basis(int alpha, const vec *d, vec *out)
{
	if (alpha == 6)
		basis6(d, out);
	else
		basis8(d, out);
}

/* sum over k = first, first + 2, ... < n of p^k in[k] */
WINO_INLINE vec every_other(int n, int first, float p, const vec *in)
{
	vec s = v_scale(power(p, first), in[first]);
	WINO_UNROLL
	for (int k = first + 2; k < n; k += 2)
		s = v_fma(s, power(p, k), in[k]);
	return s;
}

/* out[j] = the polynomial of n coefficients at point j, over N_j if scaled. */
WINO_INLINE void evaluate(int alpha, int n, bool scaled, const vec *in, vec *out)
{
	const struct wino_points *w = points(alpha);
	out[0] = in[0];
	WINO_UNROLL
	for (int i = 0; i < w->pairs; i++) {
		const vec e = every_other(n, 0, w->pair[i], in);
		const vec o = every_other(n, 1, w->pair[i], in);
		out[1 + 2 * i] = v_add(e, o);
		out[2 + 2 * i] = v_sub(e, o);
	}
	WINO_UNROLL
	for (int i = 0; i < w->singles; i++) {
		vec s = in[0];
		WINO_UNROLL
		for (int k = 1; k < n; k++)
			s = v_fma(s, power(w->single[i], k), in[k]);
		out[1 + 2 * w->pairs + i] = s;
	}
	WINO_UNROLL
	for (int j = 0; j < alpha - 1; j++)
		out[j] = v_scale(scaled ? w->inverse[j] : 1, out[j]);
	out[alpha - 1] = in[n - 1];
}

/* The transpose of evaluate(): out[k] = sum_j p_j^k in[j]; if scaled, in[j] is divided by N_j
 * before that. Overwrites `in`. */
WINO_INLINE void interpolate(int alpha, int n, bool scaled, vec *in, vec *out)
{
	const struct wino_points *w = points(alpha);
	WINO_UNROLL
	for (int j = 0; j < alpha - 1; j++)
		in[j] = v_scale(scaled ? w->inverse[j] : 1, in[j]);
	out[0] = in[0];
	WINO_UNROLL
	for (int i = 0; i < w->pairs; i++) {
		const vec s = v_add(in[1 + 2 * i], in[2 + 2 * i]);
		const vec d = v_sub(in[1 + 2 * i], in[2 + 2 * i]);
		out[0] = v_add(out[0], s);
		WINO_UNROLL
		for (int k = 1; k < n; k++)
			if (i == 0)
				out[k] = k % 2 ? d : s;
			else
				out[k] = v_fma(out[k], power(w->pair[i], k), k % 2 ? d : s);
	}
	WINO_UNROLL
	for (int i = 0; i < w->singles; i++) {
		const vec s = in[1 + 2 * w->pairs + i];
		WINO_UNROLL
		for (int k = 0; k < n; k++)
			out[k] = v_fma(out[k], power(w->single[i], k), s);
	}
	out[n - 1] = v_add(out[n - 1], in[alpha - 1]);
}

#endif
#endif
