/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every function is one pass over memory, by all threads. */
#include "backend/proof/proof_memory.h"

#include <string.h>

#include "base/half.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/simd.h"

#define PART ((int64_t)1 << 16)  /* elements, or bytes, that a thread takes at a time */

/* A slice of the channels of a larger buffer. */
static bool is_slice(const struct tensor *x, struct layout_rows *rows)
{
	return x->layout.nblk == 0 && layout_rows(&x->layout, &x->shape, rows) &&
	       rows->stride > rows->c;
}

static int64_t elements(const struct tensor *x)
{
	struct layout_rows rows;
	return is_slice(x, &rows) ? (rows.rows - 1) * rows.stride + rows.c :
	       layout_elements(&x->layout);
}

size_t proof_memory_bytes(const struct tensor *x)
{
	return (size_t)elements(x) * dtype_size(x->dtype);
}

/* --- filling --- */

/* Mixes the bits of a counter (the finaliser of MurmurHash3). */
SIMD_INLINE float random_value(uint32_t i)
{
	i ^= i >> 16;
	i *= 0x85EBCA6Bu;
	i ^= i >> 13;
	i *= 0xC2B2AE35u;
	i ^= i >> 16;
	return (float)(int32_t)i * 0x1p-31f;
}

SIMD_CLONES(void, fill_f32, (float *p, uint32_t first, int64_t n), (p, first, n))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++)
		p[i] = random_value(first + (uint32_t)i);
}

SIMD_CLONES(void, fill_bf16, (uint16_t *p, uint32_t first, int64_t n), (p, first, n))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++)
		p[i] = (uint16_t)(simd_bits(random_value(first + (uint32_t)i)) >> 16);
}

double proof_memory_largest(enum dtype t)
{
	return t == DTYPE_F16 ? 0x1p-3 : 1;
}

static void fill_f16(uint16_t *p, uint32_t first, int64_t n)
{
	const float largest = (float)proof_memory_largest(DTYPE_F16);
	float v[1024];
	for (int64_t at = 0; at < n; at += 1024) {
		const int64_t part = n - at < 1024 ? n - at : 1024;
		fill_f32(v, first + (uint32_t)at, part);
		for (int64_t i = 0; i < part; i++)
			v[i] *= largest;
		half_from_floats(p + at, v, part);
	}
}

static void fill(enum dtype t, void *p, uint32_t seed, int64_t n)
{
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < n; i += PART) {
		const int64_t part = n - i < PART ? n - i : PART;
		if (t == DTYPE_BF16)
			fill_bf16((uint16_t *)p + i, seed + (uint32_t)i, part);
		else if (t == DTYPE_F16)
			fill_f16((uint16_t *)p + i, seed + (uint32_t)i, part);
		else
			fill_f32((float *)p + i, seed + (uint32_t)i, part);
	}
}

static uint32_t start_of(uint64_t seed)
{
	return (uint32_t)(seed + 1) * 0x9E3779B9u;
}

void proof_memory_random(enum dtype t, void *p, int64_t n, uint64_t seed)
{
	fill(t, p, start_of(seed), n);
}

void proof_memory_fill(const struct tensor *x, void *p, uint64_t seed)
{
	const uint32_t start = start_of(seed);
	const int64_t n = shape_count(&x->shape);
	if (x->layout.nblk == 0 || layout_is_dense(&x->layout)) {
		fill(x->dtype, p, start, elements(x));
		return;
	}
	void *plain = mem_alloc((size_t)n * dtype_size(x->dtype));
	fill(x->dtype, plain, start, n);
	layout_pack(&x->layout, &x->shape, x->dtype, p, x->dtype, plain);
	mem_free(plain);
}

void proof_memory_poison(char *p, size_t n, int byte)
{
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < n; i += (size_t)PART)
		memset(p + i, byte, n - i < (size_t)PART ? n - i : (size_t)PART);
}

bool proof_memory_is(const char *p, size_t n, int byte)
{
	return n == 0 || (*p == (char)byte && memcmp(p, p + 1, n - 1) == 0);
}

/* --- looking --- */

struct sums {
	uint32_t special;            /* not 0: some exponent is that of infinities and NaN */
	uint64_t plain, weighted;    /* sums of the elements' bits, and of the bits weighted by index */
};

SIMD_CLONES(struct sums, sums_f32, (const uint32_t *p, uint64_t first, int64_t n), (p, first, n))
{
	uint32_t special = 0;
	uint64_t plain = 0, weighted = 0;
#pragma omp simd reduction(| : special) reduction(+ : plain, weighted)
	for (int64_t i = 0; i < n; i++) {
		const uint64_t v = p[i];
		special |= (p[i] & 0x7F800000u) == 0x7F800000u;
		plain += v;
		weighted += v * (first + (uint64_t)i);
	}
	return (struct sums){ special, plain, weighted };
}

/* exponent: the bits of the type's. */
SIMD_CLONES(struct sums, sums_16, (const uint16_t *p, uint64_t first, int64_t n, uint32_t exponent),
            (p, first, n, exponent))
{
	uint32_t special = 0;
	uint64_t plain = 0, weighted = 0;
#pragma omp simd reduction(| : special) reduction(+ : plain, weighted)
	for (int64_t i = 0; i < n; i++) {
		const uint64_t v = p[i];
		special |= (p[i] & exponent) == exponent;
		plain += v;
		weighted += v * (first + (uint64_t)i);
	}
	return (struct sums){ special, plain, weighted };
}

static struct sums sums_of(enum dtype t, const void *p, int64_t first, int64_t n)
{
	const uint64_t number = (uint64_t)first + 1;
	return t == DTYPE_F32 ? sums_f32((const uint32_t *)p + first, number, n) :
	       sums_16((const uint16_t *)p + first, number, n, t == DTYPE_BF16 ? 0x7F80u : 0x7C00u);
}

static void see_sums(struct proof_seen *out, uint32_t special, uint64_t plain, uint64_t weighted)
{
	const uint64_t both[] = { plain, weighted };
	out->finite = special == 0;
	out->hash = hash_bytes(both, sizeof both, 0);
}

static void see_rows(struct proof_seen *out, const struct tensor *x, const void *p,
                     const struct layout_rows *rows, int byte)
{
	const size_t size = dtype_size(x->dtype);
	uint32_t special = 0, gaps = 0;
	uint64_t plain = 0, weighted = 0;
#pragma omp parallel for schedule(static) reduction(| : special, gaps) \
	reduction(+ : plain, weighted)
	for (int64_t r = 0; r < rows->rows; r++) {
		const struct sums s = sums_of(x->dtype, p, r * rows->stride, rows->c);
		const char *gap = (const char *)p + (size_t)(r * rows->stride + rows->c) * size;
		special |= s.special;
		plain += s.plain;
		weighted += s.weighted;
		if (r + 1 < rows->rows)
			gaps |= !proof_memory_is(gap, (size_t)(rows->stride - rows->c) * size, byte);
	}
	see_sums(out, special, plain, weighted);
	out->gaps_written = gaps != 0;
	out->padding_zero = true;
}

/* Whether padding is 0: packing the values again gives the same bytes. */
static bool has_zero_padding(const struct tensor *x, const void *p)
{
	const size_t size = dtype_size(x->dtype), bytes = proof_memory_bytes(x);
	void *plain = mem_alloc((size_t)shape_count(&x->shape) * size), *again = mem_alloc(bytes);
	layout_unpack(&x->layout, &x->shape, x->dtype, plain, x->dtype, p);
	layout_pack(&x->layout, &x->shape, x->dtype, again, x->dtype, plain);
	const bool same = memcmp(again, p, bytes) == 0;
	mem_free(plain);
	mem_free(again);
	return same;
}

void proof_memory_see(struct proof_seen *out, const struct tensor *x, const void *p, int byte)
{
	struct layout_rows rows;
	uint32_t special = 0;
	uint64_t plain = 0, weighted = 0;
	*out = (struct proof_seen){ 0 };
	if (is_slice(x, &rows)) {
		see_rows(out, x, p, &rows, byte);
		return;
	}
	const int64_t n = elements(x);
#pragma omp parallel for schedule(static) reduction(| : special) reduction(+ : plain, weighted)
	for (int64_t i = 0; i < n; i += PART) {
		const struct sums s = sums_of(x->dtype, p, i, n - i < PART ? n - i : PART);
		special |= s.special;
		plain += s.plain;
		weighted += s.weighted;
	}
	see_sums(out, special, plain, weighted);
	out->padding_zero = layout_is_dense(&x->layout) || has_zero_padding(x, p);
}
