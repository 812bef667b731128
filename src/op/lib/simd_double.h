/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Branch-free double versions of exp, tanh and the logistic function. Compilers vectorize loops
 * that call them. Errors are within 3 units in the last place (test_ops.c). NaN stays NaN. */
#ifndef DLX_OP_LIB_SIMD_DOUBLE_H
#define DLX_OP_LIB_SIMD_DOUBLE_H

#include "base/simd.h"

/* c ? a : b as in simd_select. */
SIMD_INLINE double simd_select_double(int64_t c, double a, double b)
{
	uint64_t m = 0u - (uint64_t)c;
	return simd_double((simd_bits64(a) & m) | (simd_bits64(b) & ~m));
}

/* exp(x) = 2^n (1 + rest),
 *
 * x - n ln 2
 *
 * <= ln 2 / 2. rest is a Taylor polynomial whose first omitted term is at most 4e-18. Adding 1.5 *
 * 2^52 rounds to an integer and leaves it in the low bits. ln 2 is split into two parts; the first
 * has 32 bits, so that its product with n is exact. */
struct simd_power {
	uint64_t n;                  /* the exponent n, plus 2048 */
	double rest;
};

SIMD_INLINE struct simd_power simd_power_of(double x)
{
	const double magic = 6755399441055744.0;
	const double t = x * 1.44269504088896340736 + magic, n = t - magic;
	const double r = x - n * 6.93147180369123816490e-01 - n * 1.90821492927058770002e-10;
	double p = 1.0 / 6227020800;
	p = p * r + 1.0 / 479001600;
	p = p * r + 1.0 / 39916800;
	p = p * r + 1.0 / 3628800;
	p = p * r + 1.0 / 362880;
	p = p * r + 1.0 / 40320;
	p = p * r + 1.0 / 5040;
	p = p * r + 1.0 / 720;
	p = p * r + 1.0 / 120;
	p = p * r + 1.0 / 24;
	p = p * r + 1.0 / 6;
	p = p * r + 0.5;
	return (struct simd_power){ simd_bits64(t) - simd_bits64(magic) + 2048, p * (r * r) + r };
}

/* 2^(n - 2048) for normal numbers. */
SIMD_INLINE double simd_power_two(uint64_t n)
{
	return simd_double((n - 2048 + 1023) << 52);
}

/* 2^n is applied as two factors, so that results near overflow and in the denormal range are
 * right. */
SIMD_INLINE double simd_exp_double(double x)
{
	x = simd_select_double(x > 710.0, 710.0, x);
	x = simd_select_double(x < -746.0, -746.0, x);
	const struct simd_power p = simd_power_of(x);
	const uint64_t half = p.n >> 1, two = half + 1024;
	return (1 + p.rest) * simd_power_two(two) * simd_power_two(p.n - half + 1024);
}

/* e / (e + 2) with e = exp(2
 *
 * x
 *
 * ) - 1, which has no cancellation near 0; for
 *
 * x
 *
 * above 20 it is 1. */
SIMD_INLINE double simd_tanh_double(double x)
{
	double a = simd_double(simd_bits64(x) & ~(1ull << 63));
	a = simd_select_double(a > 20.0, 20.0, a);
	const struct simd_power p = simd_power_of(a + a);
	const double two = simd_power_two(p.n), e = two * p.rest + (two - 1);
	return simd_double(simd_bits64(e / (e + 2)) | (simd_bits64(x) & 1ull << 63));
}

SIMD_INLINE double simd_sigmoid_double(double x)
{
	return 1 / (1 + simd_exp_double(-x));
}

#endif
