/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The merge is on the way of every sample that is read, and the split of every one that is written.
 * Both use what every x86-64 has, and take 16 elements a step, at the rate of a copy. */
#include "data/record_planes.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The elements that the vectors leave. */
static void merge_rest(uint8_t *raw, const uint8_t *const plane[PLANES_MOST], size_t from,
                       size_t n, size_t width)
{
	for (size_t i = from; i < n; i++)
		for (size_t k = 0; k < width; k++)
			raw[i * width + k] = plane[k][i];
}

#ifdef __SSE2__
static __m128i load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static void store(uint8_t *p, __m128i v)
{
	_mm_storeu_si128((__m128i *)(void *)p, v);
}

/* The even bytes of 32. */
static __m128i even(__m128i a, __m128i b)
{
	const __m128i low = _mm_set1_epi16(255);
	return _mm_packus_epi16(_mm_and_si128(a, low), _mm_and_si128(b, low));
}

static __m128i odd(__m128i a, __m128i b)
{
	return _mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8));
}

static size_t split_2(uint8_t *planes, const uint8_t *raw, size_t n)
{
	size_t i = 0;
	for (; i + 16 <= n; i += 16) {
		const __m128i a = load(raw + 2 * i), b = load(raw + 2 * i + 16);

		store(planes + i, even(a, b));
		store(planes + n + i, odd(a, b));
	}
	return i;
}

static size_t split_4(uint8_t *planes, const uint8_t *raw, size_t n)
{
	size_t i = 0;
	for (; i + 16 <= n; i += 16) {
		const __m128i a = load(raw + 4 * i), b = load(raw + 4 * i + 16),
		              c = load(raw + 4 * i + 32), d = load(raw + 4 * i + 48);

		store(planes + i, even(even(a, b), even(c, d)));
		store(planes + n + i, even(odd(a, b), odd(c, d)));
		store(planes + 2 * n + i, odd(even(a, b), even(c, d)));
		store(planes + 3 * n + i, odd(odd(a, b), odd(c, d)));
	}
	return i;
}

static size_t merge_2(uint8_t *raw, const uint8_t *const plane[PLANES_MOST], size_t n)
{
	size_t i = 0;
	for (; i + 16 <= n; i += 16) {
		const __m128i a = load(plane[0] + i), b = load(plane[1] + i);

		store(raw + 2 * i, _mm_unpacklo_epi8(a, b));
		store(raw + 2 * i + 16, _mm_unpackhi_epi8(a, b));
	}
	return i;
}

/* Elements of 4 bytes, of planes k to k + 3, as four vectors. */
static inline __attribute__((always_inline)) void
merge_quarters(__m128i out[4], const uint8_t *const *plane, size_t i)
{
	const __m128i a = load(plane[0] + i), b = load(plane[1] + i), c = load(plane[2] + i),
	              d = load(plane[3] + i);
	const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d),
	              ab2 = _mm_unpackhi_epi8(a, b), cd2 = _mm_unpackhi_epi8(c, d);

	out[0] = _mm_unpacklo_epi16(ab, cd);
	out[1] = _mm_unpackhi_epi16(ab, cd);
	out[2] = _mm_unpacklo_epi16(ab2, cd2);
	out[3] = _mm_unpackhi_epi16(ab2, cd2);
}

static size_t merge_4(uint8_t *raw, const uint8_t *const plane[PLANES_MOST], size_t n)
{
	size_t i = 0;
	for (; i + 16 <= n; i += 16) {
		__m128i v[4];

		merge_quarters(v, plane, i);
		for (size_t k = 0; k < 4; k++)
			store(raw + 4 * i + 16 * k, v[k]);
	}
	return i;
}

static size_t merge_8(uint8_t *raw, const uint8_t *const plane[PLANES_MOST], size_t n)
{
	size_t i = 0;
	for (; i + 16 <= n; i += 16) {
		__m128i low[4], high[4];

		merge_quarters(low, plane, i);
		merge_quarters(high, plane + 4, i);
		for (size_t k = 0; k < 4; k++) {
			store(raw + 8 * i + 32 * k, _mm_unpacklo_epi32(low[k], high[k]));
			store(raw + 8 * i + 32 * k + 16, _mm_unpackhi_epi32(low[k], high[k]));
		}
	}
	return i;
}
#endif

void planes_split(uint8_t *planes, const uint8_t *raw, size_t n, size_t width)
{
	size_t done = 0;

#ifdef __SSE2__
	done = width == 2 ? split_2(planes, raw, n) : width == 4 ? split_4(planes, raw, n) : 0;
#endif
	for (size_t k = 0; k < width; k++)
		for (size_t i = done; i < n; i++)
			planes[k * n + i] = raw[i * width + k];
}

void planes_merge(uint8_t *raw, const uint8_t *const plane[PLANES_MOST], size_t n, size_t width)
{
	size_t done = 0;

#ifdef __SSE2__
	done = width == 2 ? merge_2(raw, plane, n) : width == 4 ? merge_4(raw, plane, n)
	       : width == 8 ? merge_8(raw, plane, n) : 0;
#endif
	merge_rest(raw, plane, done, n, width);
}
