/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The 16-bit floats by their bits: float16 is 1-5-10, bfloat16 is the upper half of a float32.
 * Rounding to nearest even adds "half minus one, plus the last kept bit" before the cut, which
 * carries into the exponent where it must. */
#include "base/half.h"

#include "base/simd.h"

float half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16;
	uint32_t exp = h >> 10 & 0x1F, frac = h & 0x3FF;
	if (exp == 0) {   /* zero or subnormal: frac * 2^-24, exact in a float */
		float v = (float)frac * 0x1p-24f;
		return simd_float(sign | simd_bits(v));
	}
	if (exp == 31)
		return simd_float(sign | 0x7F800000 | frac << 13);
	return simd_float(sign | (exp + 112) << 23 | frac << 13);
}

/* u cut by `shift` bits, to nearest even. */
static uint32_t round_shift(uint32_t u, int shift)
{
	return (u + (1u << (shift - 1)) - 1 + (u >> shift & 1)) >> shift;
}

uint16_t half_from_float(float f)
{
	uint32_t u = simd_bits(f), sign = u >> 16 & 0x8000;
	u &= 0x7FFFFFFF;
	if (u > 0x7F800000)
		return (uint16_t)(sign | 0x7E00 | (u >> 13 & 0x3FF));
	if (u >= 0x477FF000)   /* 65520, halfway to the value after the largest: infinity */
		return (uint16_t)(sign | 0x7C00);
	if (u < 0x33000000)    /* below 2^-25, half the smallest subnormal */
		return (uint16_t)sign;
	if (u < 0x38800000) {  /* below 2^-14: subnormal, in units of 2^-24 */
		int shift = 126 - (int)(u >> 23);
		return (uint16_t)(sign | round_shift((u & 0x7FFFFF) | 0x800000, shift));
	}
	return (uint16_t)(sign | round_shift(u - (112u << 23), 13));
}

float bfloat_to_float(uint16_t b)
{
	return simd_float((uint32_t)b << 16);
}

uint16_t bfloat_from_float(float f)
{
	uint32_t u = simd_bits(f);
	if ((u & 0x7FFFFFFF) > 0x7F800000)
		return (uint16_t)(u >> 16 | 0x40);   /* a quiet NaN, which stays one without its low bits */
	return (uint16_t)round_shift(u, 16);
}

/* The stores are of integers of the same size, since compilers vectorise those but not a memcpy of
 * a float. */
SIMD_CLONES_OF(extern, void, bfloat_to_floats, (float *dst, const uint16_t *src, int64_t n),
               (dst, src, n))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++) {
		union { uint32_t u; float f; } v = { (uint32_t)src[i] << 16 };
		dst[i] = v.f;
	}
}

SIMD_CLONES_OF(extern, void, bfloat_from_floats, (uint16_t *dst, const float *src, int64_t n),
               (dst, src, n))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++) {
		union { float f; uint32_t u; } v = { src[i] };
		const uint32_t u = v.u, nan = 0u - (uint32_t)((u & 0x7FFFFFFF) > 0x7F800000);
		const uint32_t rounded = (u + 0x7FFF + (u >> 16 & 1)) >> 16;
		dst[i] = (uint16_t)((rounded & ~nan) | ((u >> 16 | 0x40) & nan));
	}
}

/* As half_to_float, all three cases at once. */
SIMD_CLONES_OF(extern, void, half_to_floats, (float *dst, const uint16_t *src, int64_t n),
               (dst, src, n))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++) {
		union { uint32_t u; float f; } v, small;
		const uint32_t h = src[i], sign = (h & 0x8000) << 16, rest = h & 0x7FFF;
		small.f = (float)(int32_t)rest * 0x1p-24f;
		v.u = (rest << 13) + (112u << 23);
		v.u = rest >= 0x7C00 ? v.u + (112u << 23) : v.u;
		v.u = (rest < 0x400 ? small.u : v.u) | sign;
		dst[i] = v.f;
	}
}

/* As half_from_float. The last bit of numbers about a half is 2^-24, the unit of subnormals: adding
 * a half rounds to it. */
SIMD_CLONES_OF(extern, void, half_from_floats, (uint16_t *dst, const float *src, int64_t n),
               (dst, src, n))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++) {
		union { float f; uint32_t u; } v = { src[i] }, small;
		const uint32_t u = v.u & 0x7FFFFFFF, sign = v.u >> 16 & 0x8000;
		small.u = u;
		small.f += 0.5f;
		uint32_t h = (u - (112u << 23) + 0xFFF + (u >> 13 & 1)) >> 13;
		h = u < 0x38800000 ? small.u - 0x3F000000 : h;
		h = u >= 0x477FF000 ? 0x7C00 : h;
		h = u > 0x7F800000 ? 0x7E00 | (u >> 13 & 0x3FF) : h;
		dst[i] = (uint16_t)(sign | h);
	}
}
