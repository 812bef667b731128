/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory bandwidth is the limit: every element is read once and written once to the same address,
 * so non-temporal stores would not help. Two blocks, the usual number on a small machine, have a
 * loop of their own; more are added into buffers that stay in the first cache. */
#include "comm/sum.h"

#include <string.h>

#include "base/half.h"
#include "base/simd.h"

#define CHUNK 1024             /* elements */
#define LEVELS 32              /* most levels of the tree over the sources, whose number is an
                                * int */

SIMD_CLONES(void, both_f32, (float *restrict a, float *restrict b, int64_t n), (a, b, n))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++) {
		float s = a[i] + b[i];
		a[i] = s;
		b[i] = s;
	}
}

SIMD_CLONES(void, add_f32, (float *restrict sum, const float *restrict a, int64_t n), (sum, a, n))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++)
		sum[i] += a[i];
}

SIMD_CLONES(void, add_f64, (double *restrict sum, const double *restrict a, int64_t n),
            (sum, a, n))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++)
		sum[i] += a[i];
}

void sum_widen(enum dtype t, float *dst, const void *src, int64_t n)
{
	const uint16_t *p = src;
	if (t == DTYPE_BF16)
		bfloat_to_floats(dst, p, n);
	else
		half_to_floats(dst, p, n);
}

void sum_narrow(enum dtype t, void *dst, const float *src, int64_t n)
{
	uint16_t *p = dst;
	if (t == DTYPE_BF16)
		bfloat_from_floats(p, src, n);
	else
		half_from_floats(p, src, n);
}

static void *at(void *block, int64_t i, size_t size)
{
	return (char *)block + (size_t)i * size;
}

/* The tree over the sources 0 .. n - 1 is that of a binary counter: at[l] of `level` holds the sum
 * of sources whose number is a power of two, each smaller than the one before. Source r is added to
 * as many of them as r has ones at its end. */
static int ones(int r)
{
	return __builtin_ctz(~(unsigned)r);
}

static void chunk_f32(void *const *src, int nsrc, void *const *dst, int ndst, int64_t i, int64_t n)
{
	_Alignas(64) float level[LEVELS][CHUNK];
	int top = -1;
	for (int r = 0; r < nsrc; r++) {
		if (r % 2 == 0)
			memcpy(level[++top], at(src[r], i, 4), (size_t)n * 4);
		else
			add_f32(level[top], at(src[r], i, 4), n);
		for (int k = ones(r); k > 1; k--, top--)
			add_f32(level[top - 1], level[top], n);
	}
	for (; top > 0; top--)
		add_f32(level[top - 1], level[top], n);
	for (int r = 0; r < ndst; r++)
		memcpy(at(dst[r], i, 4), level[0], (size_t)n * 4);
}

static void chunk_f64(void *const *src, int nsrc, void *const *dst, int ndst, int64_t i, int64_t n)
{
	_Alignas(64) double level[LEVELS][CHUNK];
	int top = -1;
	for (int r = 0; r < nsrc; r++) {
		if (r % 2 == 0)
			memcpy(level[++top], at(src[r], i, 8), (size_t)n * 8);
		else
			add_f64(level[top], at(src[r], i, 8), n);
		for (int k = ones(r); k > 1; k--, top--)
			add_f64(level[top - 1], level[top], n);
	}
	for (; top > 0; top--)
		add_f64(level[top - 1], level[top], n);
	for (int r = 0; r < ndst; r++)
		memcpy(at(dst[r], i, 8), level[0], (size_t)n * 8);
}

static void chunk_16(enum dtype t, void *const *src, int nsrc, void *const *dst, int ndst,
                     int64_t i, int64_t n)
{
	_Alignas(64) float level[LEVELS][CHUNK];
	_Alignas(64) uint16_t narrow[CHUNK];
	int top = -1;
	for (int r = 0; r < nsrc; r++) {
		sum_widen(t, level[++top], at(src[r], i, 2), n);
		for (int k = ones(r); k > 0; k--, top--)
			add_f32(level[top - 1], level[top], n);
	}
	for (; top > 0; top--)
		add_f32(level[top - 1], level[top], n);
	sum_narrow(t, narrow, level[0], n);
	for (int r = 0; r < ndst; r++)
		memcpy(at(dst[r], i, 2), narrow, (size_t)n * 2);
}

static bool same_two(void *const *src, int nsrc, void *const *dst, int ndst)
{
	return nsrc == 2 && ndst == 2 && src[0] == dst[0] && src[1] == dst[1];
}

void sum_blocks(enum dtype t, void *const *src, int nsrc, void *const *dst, int ndst, int64_t first,
                int64_t n)
{
	if (t == DTYPE_F32 && same_two(src, nsrc, dst, ndst)) {
		both_f32(at(src[0], first, 4), at(src[1], first, 4), n);
		return;
	}
	for (int64_t i = 0; i < n; i += CHUNK) {
		int64_t m = n - i < CHUNK ? n - i : CHUNK;
		if (t == DTYPE_F32)
			chunk_f32(src, nsrc, dst, ndst, first + i, m);
		else if (t == DTYPE_F64)
			chunk_f64(src, nsrc, dst, ndst, first + i, m);
		else
			chunk_16(t, src, nsrc, dst, ndst, first + i, m);
	}
}
