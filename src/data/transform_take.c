/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The beginning of a chain of transforms: stored values are converted to the batch's type piece by
 * piece, directly after decoding, while a piece is in the processor's cache. If the first step
 * scales, it is applied in the same loop, which saves a pass over memory; so is rounding to 16
 * bits. A chain whose last step makes float32 ends in the same manner.
 *
 * Values that a GPU's network would round anyway are rounded here, so that half the bytes are
 * transferred. The network must see the same bits either way. All conversions round to nearest
 * even; but base/half.h keeps the sign and upper bits of a NaN, while NVIDIA's conversions map all
 * NaNs to one, and so does this file.
 *
 * Large arrays are written past the caches (non-temporal stores): a line that is only written need
 * not be read before, and the pieces are not evicted from the cache. */
#include <string.h>

#include "base/half.h"
#include "base/simd.h"
#include "data/transform_step.h"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#define BLOCK 2048                     /* values that are converted at a time */
#define LARGE ((size_t)4 << 20)        /* bytes of an array, of which a core's share of caches is no
                                        * more */
#define ONE_NAN 0x7FFF                 /* of NVIDIA's conversions to either type of 16 bits */

/* The mask of a step that has one may be in a chunk that is decoded later. */
struct intake intake_plan(enum dtype from, enum dtype to, const struct step *step, int n,
                          int64_t count)
{
	return (struct intake){ from, to, intake_scales(step, n) ? step : NULL,
		(size_t)count * dtype_size(to) >= LARGE };
}

bool intake_scales(const struct step *step, int n)
{
	return n > 0 && step->op->run == affine_run && step->mask < 0;
}

bool intake_changes(const struct intake *i)
{
	return i->scale || i->from != i->to || i->large;
}

SIMD_CLONES(void, scale, (float *out, const float *x, int64_t n, float centre, float by),
            (out, x, n, centre, by))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++)
		out[i] = (x[i] - centre) * by;
}

#ifdef __SSE2__
/* The number of values before the first address that is aligned for vector stores. */
static int64_t before(const float *out, int64_t n)
{
	const int64_t k = (int64_t)(-(uintptr_t)out % 16 / sizeof *out);
	return k < n ? k : n;
}

static void scale_past(float *out, const float *x, int64_t n, float centre, float by)
{
	const __m128 c = _mm_set1_ps(centre), b = _mm_set1_ps(by);
	int64_t i = before(out, n);
	scale(out, x, i, centre, by);
	for (; i + 4 <= n; i += 4)
		_mm_stream_ps(out + i, _mm_mul_ps(_mm_sub_ps(_mm_loadu_ps(x + i), c), b));
	scale(out + i, x + i, n - i, centre, by);
}

static void copy_past(void *to, const void *from, size_t bytes)
{
	const size_t lead = -(uintptr_t)to % 16;
	size_t i = lead < bytes ? lead : bytes;
	memcpy(to, from, i);
	for (; i + 16 <= bytes; i += 16)
		_mm_stream_ps((float *)(void *)((char *)to + i),
		              _mm_loadu_ps((const float *)(const void *)((const char *)from + i)));
	memcpy((char *)to + i, (const char *)from + i, bytes - i);
}

/* A fence, so that other threads see the non-temporal stores. */
static void end_past(void)
{
	_mm_sfence();
}
#else
#define scale_past scale
#define copy_past memcpy

static void end_past(void)
{
}
#endif

static void copy(const struct intake *i, void *to, const void *from, size_t bytes)
{
	if (i->large)
		copy_past(to, from, bytes);
	else
		memcpy(to, from, bytes);
}

/* Floats of one channel, which may be in their place. */
static void put(const struct intake *i, float *out, const float *x, int64_t n, int64_t channel)
{
	const struct step *s = i->scale;
	const bool scales = s && s->active[channel];
	if (!scales && x != out)
		copy(i, out, x, (size_t)n * sizeof *x);
	else if (!scales)
		return;
	else if (i->large)
		scale_past(out, x, n, s->centre[channel], s->scale[channel]);
	else
		scale(out, x, n, s->centre[channel], s->scale[channel]);
}

/* Values of one channel. */
static void convert(const struct intake *i, float *out, const char *values, int64_t n,
                    int64_t channel)
{
	const size_t size = dtype_size(i->from);
	float block[BLOCK];
	if (i->from == DTYPE_F32) {
		put(i, out, (const float *)(const void *)values, n, channel);
		return;
	}
	for (int64_t at = 0; at < n; at += BLOCK) {
		const int64_t m = n - at < BLOCK ? n - at : BLOCK;
		float *to = i->large ? block : out + at;

		dtype_convert(DTYPE_F32, to, i->from, values + (size_t)at * size, m);
		put(i, out + at, to, m, channel);
	}
}

SIMD_CLONES(void, join_nans, (uint16_t *x, int64_t n, uint16_t infinity), (x, n, infinity))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++)
		x[i] = (x[i] & 0x7FFF) > infinity ? ONE_NAN : x[i];
}

static void round_floats(enum dtype to, uint16_t *out, const float *x, int64_t n)
{
	if (to == DTYPE_BF16)
		bfloat_from_floats(out, x, n);
	else
		half_from_floats(out, x, n);
	join_nans(out, n, to == DTYPE_BF16 ? 0x7F80 : 0x7C00);
}

/* Values of one channel, in 16 bits. */
static void convert_rounded(const struct intake *i, uint16_t *out, const char *values, int64_t n,
                            int64_t channel)
{
	const struct step *s = i->scale && i->scale->active[channel] ? i->scale : NULL;
	float block[BLOCK];
	uint16_t rounded[BLOCK];
	for (int64_t at = 0; at < n; at += BLOCK) {
		const int64_t m = n - at < BLOCK ? n - at : BLOCK;
		const char *from = values + (size_t)at * dtype_size(i->from);
		const float *x = i->from == DTYPE_F32 ? (const float *)(const void *)from : block;
		uint16_t *to = i->large ? rounded : out + at;

		if (x == block)
			dtype_convert(DTYPE_F32, block, i->from, from, m);
		if (s)
			scale(block, x, m, s->centre[channel], s->scale[channel]);
		round_floats(i->to, to, s ? block : x, m);
		if (i->large)
			copy_past(out + at, rounded, (size_t)m * sizeof *rounded);
	}
}

static void take_values(const struct intake *i, char *begin, int64_t first, const char *values,
                        int64_t n)
{
	const struct geometry *g = i->scale ? &i->scale->before : NULL;
	const int64_t points = g ? g->d[0] * g->d[1] * g->d[2] : INT64_MAX;
	for (int64_t at = 0, m; at < n; at += m) {
		const int64_t channel = (first + at) / points, left = points - (first + at) % points;

		m = left < n - at ? left : n - at;
		const char *x = values + (size_t)at * dtype_size(i->from);
		char *out = begin + (size_t)(first + at) * dtype_size(i->to);
		if (i->to == DTYPE_F32)
			convert(i, (float *)(void *)out, x, m, channel);
		else
			convert_rounded(i, (uint16_t *)(void *)out, x, m, channel);
	}
}

void intake_take(const struct intake *i, void *begin, int64_t first, const void *values, int64_t n)
{
	const size_t size = dtype_size(i->to);
	if (i->to == DTYPE_F32 || i->to != i->from || i->scale)
		take_values(i, begin, first, values, n);
	else
		copy(i, (char *)begin + (size_t)first * size, values, (size_t)n * size);
	if (i->large)
		end_past();
}
