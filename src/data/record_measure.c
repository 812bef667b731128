/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Means and variances are merged piece by piece (Chan, Golub, LeVeque 1983), so their error
 * does not grow with the number of samples. */
#include "data/record_measure.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/round.h"
#include "base/simd.h"

void measure_open(struct measure *m, const struct record_info *i)
{
	*m = (struct measure){ .narrays = record_arrays(i), .ncounts = i->nclasses };
	m->of = mem_calloc((size_t)m->narrays, sizeof(*m->of));
	for (int k = 0; k < m->narrays; k++)
		m->of[k] = mem_calloc((size_t)record_array_get(i, k)->nstats, sizeof(**m->of));
	m->counts = mem_calloc((size_t)m->ncounts, sizeof(*m->counts));
	m->counted = !dtype_is_float(i->target.dtype);
}

void measure_release(struct measure *m)
{
	for (int k = 0; k < m->narrays; k++)
		mem_free(m->of[k]);
	mem_free(m->of);
	mem_free(m->values);
	mem_free(m->mask);
	mem_free(m->counts);
}

/* --- statistics --- */

static void moments_merge(struct moments *m, const struct moments *s)
{
	const double n = (double)m->n + (double)s->n, d = s->mean - m->mean;
	if (s->n == 0)
		return;
	if (m->n == 0) {
		*m = *s;
		return;
	}
	m->mean += d * (double)s->n / n;
	m->m2 += s->m2 + d * d * (double)m->n * (double)s->n / n;
	m->min = fmin(m->min, s->min);
	m->max = fmax(m->max, s->max);
	m->n += s->n;
}

#define LANES 8                  /* number of independent sums, so that they can be vectorised */

/* Keeps those of n values that are valid (finite, and mask, if any, not 0). The others become NaN,
 * as does the padding up to a multiple of LANES, for which there is room. */
static void only_counting(double *v, const double *mask, int64_t n)
{
	for (int64_t i = n; i % LANES; i++)
		v[i] = NAN;
	if (!mask)
		return;
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		v[i] = mask[i] == 0 ? NAN : v[i];
}

static bool counts(double v)
{
	return fabs(v) <= DBL_MAX;
}

/* Sums the lanes as a binary tree. */
static double all_lanes(const double *of)
{
	return ((of[0] + of[4]) + (of[2] + of[6])) + ((of[1] + of[5]) + (of[3] + of[7]));
}

/* n values, a multiple of LANES. Two passes: sum, then squared deviations. */
SIMD_CLONES(struct moments, moments_of, (const double *v, int64_t n), (v, n))
{
	struct moments s = { .min = INFINITY, .max = -INFINITY };
	double sum[LANES] = { 0 }, m2[LANES] = { 0 }, count[LANES] = { 0 }, min[LANES], max[LANES];
	for (int k = 0; k < LANES; k++) {
		min[k] = INFINITY;
		max[k] = -INFINITY;
	}
	for (int64_t i = 0; i < n; i += LANES) {
#pragma omp simd
		for (int k = 0; k < LANES; k++) {
			const double x = v[i + k];

			count[k] += counts(x) ? 1 : 0;
			sum[k] += counts(x) ? x : 0;
			min[k] = counts(x) && x < min[k] ? x : min[k];
			max[k] = counts(x) && x > max[k] ? x : max[k];
		}
	}
	s.n = (int64_t)all_lanes(count);
	if (s.n == 0)
		return s;
	s.mean = all_lanes(sum) / (double)s.n;
	for (int64_t i = 0; i < n; i += LANES) {
#pragma omp simd
		for (int k = 0; k < LANES; k++) {
			const double d = v[i + k] - s.mean;

			m2[k] += counts(v[i + k]) ? d * d : 0;
		}
	}
	s.m2 = all_lanes(m2);
	for (int k = 0; k < LANES; k++) {
		s.min = fmin(s.min, min[k]);
		s.max = fmax(s.max, max[k]);
	}
	return s;
}

/* Whole numbers of up to 16 bits, whose sums are exact: in blocks whose sum, and of 8 bits that of
 * squares too, fits 32 bits. */
#define BLOCK 65536

struct sums {
	int64_t sum;
	uint64_t squares;
	int32_t min, max;
};

#define NAME add_u8
#define ELEMENT uint8_t
#define SUM uint32_t
#define SQUARES uint32_t
#include "data/record_sums_body.h"
#define NAME add_i8
#define ELEMENT int8_t
#define SUM int32_t
#define SQUARES uint32_t
#include "data/record_sums_body.h"
#define NAME add_u16
#define ELEMENT uint16_t
#define SUM uint32_t
#define SQUARES uint64_t
#include "data/record_sums_body.h"
#define NAME add_i16
#define ELEMENT int16_t
#define SUM int32_t
#define SQUARES uint64_t
#include "data/record_sums_body.h"

__extension__ typedef __int128 wide;

static bool is_short(enum dtype t)
{
	return t == DTYPE_U8 || t == DTYPE_I8 || t == DTYPE_U16 || t == DTYPE_I16;
}

static struct moments moments_of_short(enum dtype t, const uint8_t *v, int64_t n)
{
	struct sums s = { .min = INT32_MAX, .max = INT32_MIN };
	if (n == 0)
		return (struct moments){ .min = INFINITY, .max = -INFINITY };
	for (int64_t i = 0; i < n; i += BLOCK) {
		const int64_t more = n - i < BLOCK ? n - i : BLOCK;
		const uint8_t *at = v + (size_t)i * dtype_size(t);

		if (t == DTYPE_U8)
			add_u8(at, more, &s);
		else if (t == DTYPE_I8)
			add_i8(at, more, &s);
		else if (t == DTYPE_U16)
			add_u16(at, more, &s);
		else
			add_i16(at, more, &s);
	}
	const wide m2 = (wide)n * s.squares - (wide)s.sum * s.sum;
	return (struct moments){ .n = n, .mean = (double)s.sum / (double)n,
	                         .m2 = (double)m2 / (double)n, .min = s.min, .max = s.max };
}

static void make_room(struct measure *m, int64_t points)
{
	if (points <= m->points)
		return;
	mem_free(m->values);
	mem_free(m->mask);
	m->points = points;
	m->values = mem_alloc((size_t)(points + LANES) * sizeof(double));
	m->mask = mem_alloc((size_t)points * sizeof(double));
}

void measure_moments(struct measure *m, const struct record_info *i, int k,
                     const struct shape *shape, const void *data, struct moments *out)
{
	const struct record_array *a = record_array_get(i, k);
	const int mask = k == 0 ? i->mask : -1;
	const int64_t points = a->nstats ? shape_count(shape) / a->nstats : 0;
	const size_t bytes = (size_t)points * dtype_size(a->dtype);
	const uint8_t *v = data;
	if (mask < 0 && is_short(a->dtype)) {
		for (int c = 0; c < a->nstats; c++)
			out[c] = moments_of_short(a->dtype, v + (size_t)c * bytes, points);
		return;
	}
	make_room(m, points);
	if (mask >= 0)
		dtype_convert(DTYPE_F64, m->mask, a->dtype, v + (size_t)mask * bytes, points);
	for (int c = 0; c < a->nstats; c++) {
		dtype_convert(DTYPE_F64, m->values, a->dtype, v + (size_t)c * bytes, points);
		only_counting(m->values, mask >= 0 && c != mask ? m->mask : NULL, points);
		out[c] = moments_of(m->values, ceil_div(points, LANES) * LANES);
	}
}

void measure_add(struct measure *m, const struct record_info *i, int k, const struct moments *of)
{
	for (int c = 0; c < record_array_get(i, k)->nstats; c++)
		moments_merge(&m->of[k][c], &of[c]);
}

const struct channel_stats *measure_stats(const struct measure *m, struct arena *a, int k, int n)
{
	const struct moments *of = m->of[k];
	struct channel_stats *s = ARENA_ARRAY(a, struct channel_stats, n + 1);
	for (int i = 0; i < n; i++) {
		const bool any = of[i].n > 0;

		s[i] = (struct channel_stats){
			.count = of[i].n,
			.min = any ? of[i].min : NAN,
			.max = any ? of[i].max : NAN,
			.mean = any ? of[i].mean : NAN,
			.std = any ? sqrt(of[i].m2 / (double)of[i].n) : NAN,
		};
	}
	return s;
}

/* --- labels --- */

static int64_t label(enum dtype t, const void *p, int64_t i)
{
	return t == DTYPE_I64 ? ((const int64_t *)p)[i] : (int64_t)dtype_get(t, p, i);
}

static void grow_counts(struct measure *m, int64_t v)
{
	if (v < m->ncounts)
		return;
	m->counts = mem_realloc(m->counts, ((size_t)v + 1) * sizeof(*m->counts));
	memset(m->counts + m->ncounts, 0, (size_t)(v + 1 - m->ncounts) * sizeof(*m->counts));
	m->ncounts = (int)v + 1;
}

void measure_add_counts(struct measure *m, const int64_t *counts, int n)
{
	if (n > 0)
		grow_counts(m, n - 1);
	for (int v = 0; v < n; v++)
		m->counts[v] += counts[v];
}

/* Whether it is the ignored one or a class. */
static bool is_known(const struct record_info *i, int64_t v)
{
	return v == i->ignore || i->nclasses == 0 || (v >= 0 && v < i->nclasses);
}

static int unknown_label(const struct record_info *i, const char *path, int64_t sample, int64_t v)
{
	return ERR(E_DATA, NULL, "'%s': sample %lld: target value %lld is neither one of the %d "
	           "classes nor the ignore value", path, (long long)sample, (long long)v, i->nclasses);
}

int measure_check_labels(const struct record_info *i, const void *target, int64_t n,
                         const char *path, int64_t sample)
{
	for (int64_t k = 0; k < n; k++) {
		const int64_t v = label(i->target.dtype, target, k);

		if (!is_known(i, v))
			return unknown_label(i, path, sample, v);
	}
	return 0;
}

int measure_labels(struct measure *m, const struct record_info *i, const void *target, int64_t n,
                   const char *path, int64_t sample)
{
	if (dtype_is_float(i->target.dtype))
		return 0;
	for (int64_t k = 0; k < n; k++) {
		const int64_t v = label(i->target.dtype, target, k);

		if (v == i->ignore) {
			m->ignored++;
		} else if (!is_known(i, v)) {
			return unknown_label(i, path, sample, v);
		} else if (v < 0 || v >= RECORD_MAX_CLASSES) {
			m->counted = false;
		} else {
			grow_counts(m, v);
			m->counts[v]++;
		}
	}
	return 0;
}
