/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC11).
 * The counter is (block, step), 64 bits each; the key is a mix of seed and stream which for one
 * seed is a bijection of the stream, so that two streams of a run never share a sequence. */
#include "base/rng.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/simd.h"

/* Blocks that rng_blocks computes side by side: four vectors of 16, since ten rounds are one long
 * chain. */
#define LANES 64

void rng_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
	uint32_t k0 = key[0], k1 = key[1];
	uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
	for (int round = 0; round < 10; round++) {
		uint64_t p0 = (uint64_t)0xD2511F53 * c0;
		uint64_t p1 = (uint64_t)0xCD9E8D57 * c2;
		c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
		c1 = (uint32_t)p1;
		c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
		c3 = (uint32_t)p0;
		k0 += 0x9E3779B9;
		k1 += 0xBB67AE85;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

/* A bijection of 64 bits in which every input bit reaches every output bit (Stafford's mix 13). */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
	x = (x ^ x >> 27) * 0x94D049BB133111EB;
	return x ^ x >> 31;
}

static uint64_t key_of(uint64_t seed, uint64_t stream)
{
	return mix(mix(seed + 0x9E3779B97F4A7C15) ^ stream);
}

void rng_block(uint64_t seed, uint64_t stream, uint64_t step, uint64_t block, uint32_t out[4])
{
	uint64_t k = key_of(seed, stream);
	uint32_t key[2] = { (uint32_t)k, (uint32_t)(k >> 32) };
	uint32_t counter[4] = { (uint32_t)block, (uint32_t)(block >> 32),
	                        (uint32_t)step, (uint32_t)(step >> 32) };
	rng_philox(key, counter, out);
}

/* rng_philox for LANES counters (block + lane, step), one vector lane each. */
SIMD_CLONES(void, philox_lanes, (uint64_t key, uint64_t block, uint64_t step, uint32_t *out),
            (key, block, step, out))
{
	uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
	uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
	SIMD_LOOP
	for (int l = 0; l < LANES; l++) {
		uint64_t b = block + (uint64_t)l;
		c0[l] = (uint32_t)b;
		c1[l] = (uint32_t)(b >> 32);
		c2[l] = (uint32_t)step;
		c3[l] = (uint32_t)(step >> 32);
	}
	for (int round = 0; round < 10; round++) {
		SIMD_LOOP
		for (int l = 0; l < LANES; l++) {
			uint64_t p0 = (uint64_t)0xD2511F53 * c0[l];
			uint64_t p1 = (uint64_t)0xCD9E8D57 * c2[l];
			c0[l] = (uint32_t)(p1 >> 32) ^ c1[l] ^ k0;
			c1[l] = (uint32_t)p1;
			c2[l] = (uint32_t)(p0 >> 32) ^ c3[l] ^ k1;
			c3[l] = (uint32_t)p0;
		}
		k0 += 0x9E3779B9;
		k1 += 0xBB67AE85;
	}
	for (int l = 0; l < LANES; l++) {
		out[4 * l] = c0[l];
		out[4 * l + 1] = c1[l];
		out[4 * l + 2] = c2[l];
		out[4 * l + 3] = c3[l];
	}
}

void rng_blocks(uint64_t seed, uint64_t stream, uint64_t step, uint64_t block, int n, uint32_t *out)
{
	uint64_t key = key_of(seed, stream);
	uint32_t last[4 * LANES];
	int i = 0;
	for (; i + LANES <= n; i += LANES)
		philox_lanes(key, block + (uint64_t)i, step, out + 4 * i);
	if (i == n)
		return;
	philox_lanes(key, block + (uint64_t)i, step, last);
	memcpy(out + 4 * i, last, (size_t)(n - i) * 4 * sizeof *last);
}

uint32_t rng_u32(uint64_t seed, uint64_t stream, uint64_t step, uint64_t index)
{
	uint32_t w[4];
	rng_block(seed, stream, step, index / 4, w);
	return w[index % 4];
}

static uint64_t join(const uint32_t *w)
{
	return (uint64_t)w[1] << 32 | w[0];
}

/* The upper 53 bits as a fraction: every value is a multiple of 2^-53. */
static double fraction(uint64_t u)
{
	return (double)(u >> 11) * 0x1p-53;
}

double rng_uniform(uint64_t seed, uint64_t stream, uint64_t step, uint64_t index)
{
	uint32_t w[4];
	rng_block(seed, stream, step, index / 2, w);
	return fraction(join(w + 2 * (index % 2)));
}

/* --- normal --- */

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF     /* as gcc does in ISO C: the same bits with and without vectors */
#endif

/* The natural logarithm of a positive normal number, to 1e-15: x = 2^e m with m around 1, and the
 * series of log((1 + f) / (1 - f)). Written out, as are sine and cosine below, because a compiler
 * makes vectors of it, and because libraries differ in the last bit. */
SIMD_INLINE double log_of(double x)
{
	uint64_t b = simd_bits64(x);
	int32_t e = (int32_t)(b >> 52) - 1023;
	double m = simd_double((b & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000);
	double big = m > 1.4142135623730951 ? 1.0 : 0.0, f, z, p;
	m -= big * 0.5 * m;
	f = (m - 1) / (m + 1);
	z = f * f;
	p = 1.0 / 19 + z / 21;
	p = 1.0 / 17 + z * p;
	p = 1.0 / 15 + z * p;
	p = 1.0 / 13 + z * p;
	p = 1.0 / 11 + z * p;
	p = 1.0 / 9 + z * p;
	p = 1.0 / 7 + z * p;
	p = 1.0 / 5 + z * p;
	p = 1.0 / 3 + z * p;
	return (e + big) * 0.6931471805599453 + 2 * (f + f * z * p);
}

/* Sine and cosine of 2 pi a, 0 <= a < 1: the nearest quarter
 * turn and the series of what is left, at most pi / 4. */
SIMD_INLINE void turn_of(double a, double *sine, double *cosine)
{
	int32_t q = (int32_t)(4 * a + 0.5);
	double x = 6.283185307179586477 * (a - 0.25 * q), z = x * x, s, c, t;
	s = -1.0 / 1307674368000 + z / 355687428096000;
	s = 1.0 / 6227020800 + z * s;
	s = -1.0 / 39916800 + z * s;
	s = 1.0 / 362880 + z * s;
	s = -1.0 / 5040 + z * s;
	s = 1.0 / 120 + z * s;
	s = -1.0 / 6 + z * s;
	s = x + x * z * s;
	c = 1.0 / 20922789888000;
	c = -1.0 / 87178291200 + z * c;
	c = 1.0 / 479001600 + z * c;
	c = -1.0 / 3628800 + z * c;
	c = 1.0 / 40320 + z * c;
	c = -1.0 / 720 + z * c;
	c = 1.0 / 24 + z * c;
	c = -0.5 + z * c;
	c = 1 + z * c;
	t = q & 1 ? c : s;
	*cosine = q & 1 ? s : c;
	*sine = q & 2 ? -t : t;
	*cosine = (q + 1) & 2 ? -*cosine : *cosine;
}

/* Box and Muller: the two words of a block give the pair 2i, 2i + 1. */
SIMD_INLINE void pair_of(uint64_t u, uint64_t v, double *even, double *odd)
{
	double radius = sqrt(-2.0 * log_of(1.0 - fraction(u)));   /* 1 - u: never log(0) */
	turn_of(fraction(v), odd, even);
	*even *= radius;
	*odd *= radius;
}

double rng_normal(uint64_t seed, uint64_t stream, uint64_t step, uint64_t index)
{
	uint32_t w[4];
	double z[2];
	rng_block(seed, stream, step, index / 2, w);
	pair_of(join(w), join(w + 2), &z[0], &z[1]);
	return z[index % 2];
}

/* Like philox_lanes, but returns each block as two 64-bit halves, from which the values below are
 * made. A lane is 64 bits wide, as a product is, so that nothing moves between lanes; the upper
 * halves of intermediate results are ignored. */
SIMD_CLONES(void, philox_halves,
            (uint64_t key, uint64_t block, uint64_t step, uint64_t *restrict first,
             uint64_t *restrict second), (key, block, step, first, second))
{
	const uint64_t low = 0xFFFFFFFF;
	SIMD_LOOP
	for (int l = 0; l < LANES; l++) {
		uint64_t c0 = block + (uint64_t)l, c1 = c0 >> 32, c2 = step, c3 = step >> 32;
		uint64_t k0 = key & low, k1 = key >> 32;
		SIMD_UNROLL
		for (int round = 0; round < 10; round++) {
			uint64_t p0 = 0xD2511F53 * (c0 & low), p1 = 0xCD9E8D57 * (c2 & low);
			c0 = (p1 >> 32) ^ c1 ^ k0;
			c1 = p1;
			c2 = (p0 >> 32) ^ c3 ^ k1;
			c3 = p0;
			k0 = (k0 + 0x9E3779B9) & low;
			k1 = (k1 + 0xBB67AE85) & low;
		}
		first[l] = (c1 << 32) | (c0 & low);
		second[l] = (c3 << 32) | (c2 & low);
	}
}

/* The pairs of LANES blocks. */
SIMD_CLONES(void, normals,
            (const uint64_t *restrict first, const uint64_t *restrict second,
             double *restrict out), (first, second, out))
{
	double even[LANES], odd[LANES];
	SIMD_LOOP
	for (int i = 0; i < LANES; i++)
		pair_of(first[i], second[i], &even[i], &odd[i]);
	for (int i = 0; i < LANES; i++) {
		out[2 * i] = even[i];
		out[2 * i + 1] = odd[i];
	}
}

SIMD_CLONES(void, uniforms,
            (const uint64_t *restrict first, const uint64_t *restrict second,
             double *restrict out), (first, second, out))
{
	double even[LANES], odd[LANES];
	SIMD_LOOP
	for (int i = 0; i < LANES; i++) {
		even[i] = fraction(first[i]);
		odd[i] = fraction(second[i]);
	}
	for (int i = 0; i < LANES; i++) {
		out[2 * i] = even[i];
		out[2 * i + 1] = odd[i];
	}
}

/* All values of their blocks; what is beyond the last one is cut off. */
static void fill(void (*values)(const uint64_t *first, const uint64_t *second, double *out),
                 uint64_t seed, uint64_t stream, uint64_t step, int64_t from, int64_t n,
                 double *out)
{
	uint64_t key = key_of(seed, stream), first[LANES], second[LANES];
	double v[2 * LANES];
	BUG_IF(from < 0 || from % 2, "values from %lld on", (long long)from);
	for (int64_t i = 0; i < n; i += 2 * LANES) {
		philox_halves(key, (uint64_t)(from + i) / 2, step, first, second);
		if (n - i >= 2 * LANES) {
			values(first, second, out + i);
			continue;
		}
		values(first, second, v);
		memcpy(out + i, v, (size_t)(n - i) * sizeof *v);
	}
}

void rng_uniforms(uint64_t seed, uint64_t stream, uint64_t step, int64_t first, int64_t n,
                  double *out)
{
	fill(uniforms, seed, stream, step, first, n, out);
}

void rng_normals(uint64_t seed, uint64_t stream, uint64_t step, int64_t first, int64_t n,
                 double *out)
{
	fill(normals, seed, stream, step, first, n, out);
}

/* Fisher and Yates. The index below i + 1 is the upper half of a 128-bit product: its bias, (i +
 * 1) / 2^64, is beyond measuring. */
void rng_permutation(uint64_t seed, uint64_t stream, uint64_t step, int64_t n, int64_t *out)
{
	uint32_t w[4];
	for (int64_t i = 0; i < n; i++)
		out[i] = i;
	for (int64_t i = n - 1; i > 0; i--) {
		uint64_t u;
		int64_t j, t;
		rng_block(seed, stream, step, (uint64_t)i, w);
		u = join(w);
		j = (int64_t)((unsigned __int128)u * (uint64_t)(i + 1) >> 64);
		t = out[i];
		out[i] = out[j];
		out[j] = t;
	}
}
