/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Converts the stored values of a column: missing values, packed values, and integers that a double
 * cannot represent. */
#include <float.h>
#include <math.h>

#include "data-tools/convert/column.h"

/* A missing value is written down in decimals and stored in the file's type: it is compared as
 * stored. NaN, which equals nothing, where the type has no such value. */
static long double as_stored(enum dtype t, long double m)
{
	uint64_t slot;
	if (!dtype_is_float(t))
		return m;
	dtype_set(t, &slot, 0, (double)m);
	return dtype_get(t, &slot, 0);
}

static int missing_of(const struct column *c, const struct column_raw *raw,
                      const long double **missing)
{
	*missing = c->o->nmissing >= 0 ? c->o->missing : raw->missing;
	return c->o->nmissing >= 0 ? c->o->nmissing : raw->nmissing;
}

/* Whether m is an integer of 64 bits, which no double need be. */
static bool is_whole(long double m, int64_t *out)
{
	if (!(m >= -0x1p63L && m < 0x1p63L))
		return false;
	*out = (int64_t)m;
	return (long double)*out == m;
}

static void mark_missing(const struct column *c, const struct column_raw *raw, double *v)
{
	const long double *missing;
	const int count = missing_of(c, raw, &missing);
	const int64_t *all = raw->v;
	int64_t whole;
	for (int k = 0; k < count; k++) {
		const double m = (double)as_stored(raw->stored, missing[k]);

		if (c->dtype == DTYPE_I64) {
			for (int64_t i = 0; is_whole(missing[k], &whole) && i < raw->n; i++)
				v[i] = all[i] == whole ? NAN : v[i];
			continue;
		}
#pragma omp simd
		for (int64_t i = 0; i < raw->n; i++)
			v[i] = v[i] == m ? NAN : v[i];
	}
	for (int64_t i = 0; raw->masked && i < raw->n; i++)
		v[i] = raw->valid[i] ? v[i] : NAN;
	if (!dtype_is_float(c->dtype))
		return;
#pragma omp simd
	for (int64_t i = 0; i < raw->n; i++)
		v[i] = fabs(v[i]) <= DBL_MAX ? v[i] : NAN;
}

static bool is_packed(const struct column_raw *raw)
{
	return raw->scale != 1 || raw->offset != 0 || raw->npacking;
}

/* Whether the conversion of the integer `is` to the double v, and then to f32 or f64, rounds it. */
static bool is_rounded(double v, int64_t is, enum dtype to)
{
	return v >= 0x1p63 || (int64_t)v != is || (to == DTYPE_F32 && (double)(float)v != v);
}

/* The first of the values that is rounded; 0: none. */
static int64_t first_rounded(const struct column *c, const struct column_raw *raw, const double *v,
                             enum dtype to)
{
	const double safe = to == DTYPE_F32 ? 0x1p24 : 0x1p53;
	const int64_t *whole = raw->v;
	const int32_t *short_whole = raw->v;
	if (is_packed(raw) || (to != DTYPE_F32 && to != DTYPE_F64) ||
	    (c->dtype != DTYPE_I64 && c->dtype != DTYPE_I32))
		return 0;
	for (int64_t i = 0; i < raw->n; i++) {
		const int64_t is = c->dtype == DTYPE_I64 ? whole[i] : short_whole[i];

		if (fabs(v[i]) >= safe && is_rounded(v[i], is, to))
			return is;
	}
	return 0;
}

int64_t column_values(const struct column *c, const struct column_raw *raw, enum dtype to,
                      double *values)
{
	dtype_convert(DTYPE_F64, values, c->dtype, raw->v, raw->n);
	mark_missing(c, raw, values);
	const int64_t lost = first_rounded(c, raw, values, to);
	for (int64_t k = 0; raw->npacking && k < raw->n; k++) {
		const struct packing *p = &raw->packing[k % raw->npacking];

		values[k] = values[k] * p->scale + p->offset;
	}
	for (int64_t k = 0; (raw->scale != 1 || raw->offset != 0) && k < raw->n; k++)
		values[k] = values[k] * raw->scale + raw->offset;
	return lost;
}

/* Counts the values of `type` that equal m. */
#define COUNT_EQUAL(name, type)                                             \
	static int64_t name(const void *values, int64_t n, type m)              \
	{                                                                       \
		const type *v = values;                                             \
		int64_t equal = 0;                                                  \
		_Pragma("omp simd reduction(+ : equal)")                            \
		for (int64_t i = 0; i < n; i++)                                     \
			equal += v[i] == m;                                             \
		return equal;                                                       \
	}
COUNT_EQUAL(equal_i8, int8_t)
COUNT_EQUAL(equal_u8, uint8_t)
COUNT_EQUAL(equal_i16, int16_t)
COUNT_EQUAL(equal_u16, uint16_t)
COUNT_EQUAL(equal_i32, int32_t)
COUNT_EQUAL(equal_i64, int64_t)
COUNT_EQUAL(equal_f32, float)

static int64_t equal_whole(enum dtype t, const void *v, int64_t n, int64_t m)
{
	switch (t) {
	case DTYPE_I8: return m < INT8_MIN || m > INT8_MAX ? 0 : equal_i8(v, n, (int8_t)m);
	case DTYPE_U8: return m < 0 || m > UINT8_MAX ? 0 : equal_u8(v, n, (uint8_t)m);
	case DTYPE_I16: return m < INT16_MIN || m > INT16_MAX ? 0 : equal_i16(v, n, (int16_t)m);
	case DTYPE_U16: return m < 0 || m > UINT16_MAX ? 0 : equal_u16(v, n, (uint16_t)m);
	case DTYPE_I32: return m < INT32_MIN || m > INT32_MAX ? 0 : equal_i32(v, n, (int32_t)m);
	default: return equal_i64(v, n, m);
	}
}

static int64_t infinite(const float *v, int64_t n)
{
	int64_t other = 0;
#pragma omp simd reduction(+ : other)
	for (int64_t i = 0; i < n; i++)
		other += !(fabsf(v[i]) <= FLT_MAX);
	return other;
}

bool column_plain(const struct column *c, const struct column_raw *raw)
{
	const long double *missing;
	const int count = missing_of(c, raw, &missing);
	const bool f32 = c->dtype == DTYPE_F32;
	int64_t lacks = f32 ? infinite(raw->v, raw->n) : 0, whole;
	if (is_packed(raw) || raw->masked || (dtype_is_float(c->dtype) && !f32))
		return false;
	for (int k = 0; k < count && lacks == 0; k++)
		if (f32)
			lacks = equal_f32(raw->v, raw->n, (float)as_stored(raw->stored, missing[k]));
		else if (is_whole(missing[k], &whole))
			lacks = equal_whole(c->dtype, raw->v, raw->n, whole);
	return lacks == 0;
}
