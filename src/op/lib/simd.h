/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Branch-free float32 versions of exp, exp - 1, tanh, the logistic function, the error function,
 * sine and cosine. Compilers vectorize loops that call them, unlike calls to libm. Most are
 * polynomials of Cephes; errors are within 3 units in the last place, of exp - 1 within 5
 * (test_ops.c). NaN stays NaN. */
#ifndef DLX_OP_LIB_SIMD_H
#define DLX_OP_LIB_SIMD_H

#include <stdint.h>

#include "base/simd.h"

/* Element i of an array of float32 or bfloat16, as float32. In a loop bf16 should be a constant.
 * Rounding is as in base/half.h. */
SIMD_INLINE float simd_get(const void *p, int bf16, int64_t i)
{
	return bf16 ? simd_float((uint32_t)((const uint16_t *)p)[i] << 16) : ((const float *)p)[i];
}

SIMD_INLINE uint16_t simd_bfloat(float f)
{
	uint32_t u = simd_bits(f), nan = 0u - (uint32_t)((u & 0x7FFFFFFF) > 0x7F800000);
	uint32_t rounded = (u + 0x7FFF + (u >> 16 & 1)) >> 16;
	return (uint16_t)((rounded & ~nan) | ((u >> 16 | 0x40) & nan));
}

SIMD_INLINE void simd_put(void *p, int bf16, int64_t i, float f)
{
	if (bf16)
		((uint16_t *)p)[i] = simd_bfloat(f);
	else
		((float *)p)[i] = f;
}

/* c ? a : b without a branch; c is 0 or 1. A ternary is turned into control flow where the compiler
 * thinks that one side is cheap, and then the loop is not vectorised. */
SIMD_INLINE float simd_select(int c, float a, float b)
{
	uint32_t m = 0u - (uint32_t)c;
	return simd_float((simd_bits(a) & m) | (simd_bits(b) & ~m));
}

/* exp(r) - 1 for |r| <= ln 2 / 2, by a polynomial. */
SIMD_INLINE float simd_exp_less_1(float r)
{
	float p = 1.9875691500e-4f;
	p = p * r + 1.3981999507e-3f;
	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	return p * (r * r) + r;
}

/* exp(x) = 2^n exp(r) with |r| <= ln 2 / 2. Adding 1.5 * 2^23 rounds to an integer and leaves it in
 * the low bits. 2^n is applied as two factors, so that results near overflow and in the denormal
 * range are right. */
SIMD_INLINE float simd_exp(float x)
{
	const float magic = 12582912.0f;
	float t, n, r, p;
	int32_t k, h;
	x = simd_select(x > 89.0f, 89.0f, x);
	x = simd_select(x < -104.0f, -104.0f, x);
	t = x * 1.44269504f + magic;
	n = t - magic;
	k = (int32_t)(simd_bits(t) - simd_bits(magic));
	h = k >> 1;
	r = x - n * 0.693359375f;
	r = r + n * 2.12194440e-4f;
	p = simd_exp_less_1(r) + 1.0f;
	return p * simd_float((uint32_t)(h + 127) << 23) * simd_float((uint32_t)(k - h + 127) << 23);
}

/* t / (t + 2) for t = exp(2 |x|) - 1 = 2^n (exp(r) - 1) + (2^n - 1), which is as accurate for small
 * x. From 9.02 on the result is 1. */
SIMD_INLINE float simd_tanh(float x)
{
	const float magic = 12582912.0f;
	float a = simd_float(simd_bits(x) & 0x7FFFFFFFu), n, r, p, s, t;
	a = simd_select(a > 10.0f, 10.0f, a);
	t = a * 2.88539008f + magic;
	n = t - magic;
	r = a + a - n * 0.693359375f;
	r = r + n * 2.12194440e-4f;
	p = simd_exp_less_1(r);
	s = simd_float((simd_bits(t) << 23) + 0x3F800000u);
	t = p * s + (s - 1.0f);
	t = t / (t + 2.0f);
	return simd_float(simd_bits(t) | (simd_bits(x) & 0x80000000u));
}

SIMD_INLINE float simd_sigmoid(float x)
{
	return 1.0f / (1.0f + simd_exp(-x));
}

/* exp(x) - 1, accurate for small x, too. */
SIMD_INLINE float simd_expm1(float x)
{
	return simd_tanh(0.5f * x) * (simd_exp(x) + 1.0f);
}

/* Minimax polynomials: x + x p(x^2) near zero, sign(x) (1 - exp(-q(|x|))) further out. */
SIMD_INLINE float simd_erf(float x)
{
	float a = simd_float(simd_bits(x) & 0x7FFFFFFFu);
	float z = x * x, p, q;
	p = -5.96761703e-4f;
	p = p * z + 4.99119423e-3f;
	p = p * z - 2.67681349e-2f;
	p = p * z + 1.12819925e-1f;
	p = p * z - 3.76125336e-1f;
	p = p * z + 1.28379166e-1f;
	p = p * x + x;
	q = -1.72853470e-5f * a + 3.83197126e-4f;
	q = q * z + (-3.88396438e-3f * a + 2.42546219e-2f);
	q = q * a - 1.06777877e-1f;
	q = q * a - 6.34846687e-1f;
	q = q * a - 1.28717512e-1f;
	q = q * a - a;
	q = 1.0f - simd_exp(q);
	q = simd_float(simd_bits(q) | (simd_bits(x) & 0x80000000u));
	return simd_select(a < 0.927734375f, p, q);
}

/* The largest argument for which sine and cosine are accurate. */
#define SIMD_TURN_MOST 134217728.0f

/* sin(x + quarters pi / 2): a polynomial for sine or cosine of the remainder of x modulo pi / 2.
 * Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits. pi / 2 is split into two
 * parts; the first has 25 bits, so that its product with the integer is exact. */
SIMD_INLINE float simd_turn(float x, uint32_t quarters)
{
	const double magic = 6755399441055744.0;
	const double t = (double)x * 0.63661977236758134308 + magic, n = t - magic;
	const double left = (double)x - n * 1.57079631090164184570 - n * 1.58932547735281966916e-8;
	const float r = (float)left, z = r * r;
	float s, c, y;
	quarters += (uint32_t)simd_bits64(t);
	s = -1.9515295891e-4f;
	s = s * z + 8.3321608736e-3f;
	s = s * z - 1.6666654611e-1f;
	s = s * z * r + r;
	c = 2.443315711809948e-5f;
	c = c * z - 1.388731625493765e-3f;
	c = c * z + 4.166664568298827e-2f;
	c = c * (z * z) - 0.5f * z + 1.0f;
	y = simd_select(quarters & 1, c, s);
	return simd_float(simd_bits(y) ^ (quarters & 2) << 30);
}

SIMD_INLINE float simd_sin(float x)
{
	return simd_turn(x, 0);
}

SIMD_INLINE float simd_cos(float x)
{
	return simd_turn(x, 1);
}

#endif
