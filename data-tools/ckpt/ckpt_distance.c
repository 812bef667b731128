/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Floating-point values are ordered like their bits, if these are read as integers with sign and
 * magnitude. So the distance in units in the last place is a difference of integers. */
#include "data-tools/ckpt/ckpt_distance.h"

#include <math.h>
#include <string.h>

/* Bits of one value as an unsigned integer. */
static uint64_t bits_of(size_t size, const uint8_t *p)
{
	uint64_t v = 0;
	for (size_t i = size; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static int64_t place_of(size_t size, const uint8_t *p)
{
	const uint64_t sign = 1ull << (8 * size - 1), bits = bits_of(size, p);
	const int64_t magnitude = (int64_t)(bits & (sign - 1));
	return bits & sign ? -magnitude : magnitude;
}

/* dtype_get of one value at any alignment. */
static double value_of(enum dtype type, const void *p)
{
	uint64_t room = 0;
	memcpy(&room, p, dtype_size(type));
	return dtype_get(type, &room, 0);
}

/* Of an integer type: its value, where all of them are within 64 bits. */
static int64_t integer_of(enum dtype type, const void *p)
{
	int64_t v;
	if (type != DTYPE_I64)
		return (int64_t)value_of(type, p);
	memcpy(&v, p, sizeof v);
	return v;
}

static uint64_t ulps_between(enum dtype type, const void *a, const void *b)
{
	const size_t size = dtype_size(type);
	const int64_t x = dtype_is_float(type) ? place_of(size, a) : integer_of(type, a);
	const int64_t y = dtype_is_float(type) ? place_of(size, b) : integer_of(type, b);
	return x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
}

static void add_different(struct distance *d, enum dtype type, const void *a, const void *b)
{
	const double x = value_of(type, a), y = value_of(type, b), off = fabs(x - y);
	d->differ++;
	if (isnan(x) || isnan(y)) {
		d->undefined++;
		return;
	}
	const uint64_t ulps = ulps_between(type, a, b);
	d->ulps = ulps > d->ulps ? ulps : d->ulps;
	d->largest = off > d->largest ? off : d->largest;
	d->squares += off * off;
}

void distance_add_same(struct distance *d, enum dtype type, const void *a, int64_t n)
{
	const size_t size = dtype_size(type);
	for (int64_t i = 0; i < n; i++) {
		const double x = value_of(type, (const char *)a + (size_t)i * size);
		d->base += x * x;
	}
}

void distance_add(struct distance *d, enum dtype type, const void *a, const void *b, int64_t n)
{
	const size_t size = dtype_size(type);
	const char *p = a, *q = b;
	distance_add_same(d, type, a, n);
	for (int64_t i = 0; i < n; i++, p += size, q += size)
		if (memcmp(p, q, size) != 0)
			add_different(d, type, p, q);
}

double distance_relative(const struct distance *d)
{
	if (d->differ == 0)
		return 0;
	if (d->undefined)
		return NAN;
	if (d->squares == 0)
		return 0;
	return sqrt(d->squares / d->base);
}
