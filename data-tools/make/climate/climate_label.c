/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/make/climate/climate_label.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define DEGREE (M_PI / 180)
#define SHORTEST_RIVER 1500.0          /* km: shorter regions are no rivers */
#define WIDEST_RIVER 1000.0                /* km: area over length */
#define STORM_REACH 6.6              /* degrees */
#define SHARE 0.93

const char *const label_name[LABELS] = { "background", "tropical cyclone", "atmospheric river" };

struct labeller {
	float *sorted;                       /* one variable's values */
	uint8_t *wanted;                     /* points that may belong to a region; 2: taken */
	int64_t *stack, *region;             /* points */
};

struct labeller *labeller_new(int64_t points)
{
	struct labeller *l = mem_calloc(1, sizeof *l);
	l->sorted = mem_calloc((size_t)points, sizeof *l->sorted);
	l->wanted = mem_calloc((size_t)points, sizeof *l->wanted);
	l->stack = mem_calloc((size_t)points, sizeof *l->stack);
	l->region = mem_calloc((size_t)points, sizeof *l->region);
	return l;
}

void labeller_free(struct labeller *l)
{
	if (!l)
		return;
	mem_free(l->sorted);
	mem_free(l->wanted);
	mem_free(l->stack);
	mem_free(l->region);
	mem_free(l);
}

/* --- regions --- */

static int64_t push(struct labeller *l, int64_t n, int64_t i)
{
	if (l->wanted[i] == 1) {
		l->wanted[i] = 2;
		l->stack[n++] = i;
	}
	return n;
}

/* The wanted points that are connected with point i, in l->region; returns their number. */
static int64_t flood(struct labeller *l, const struct sky *s, int64_t i)
{
	const int w = sky_width(s), h = sky_height(s);
	int64_t n = push(l, 0, i), size = 0;
	while (n > 0) {
		const int64_t at = l->stack[--n], column = at % w, row = at / w;
		l->region[size++] = at;
		n = push(l, n, row * w + (column + 1) % w);
		n = push(l, n, row * w + (column + w - 1) % w);
		if (row + 1 < h)
			n = push(l, n, at + w);
		if (row > 0)
			n = push(l, n, at - w);
	}
	return size;
}

static double area_of(const struct sky *s, const int64_t *point, int64_t n)
{
	const double across = EARTH_RADIUS * DEGREE * 360 / sky_width(s);
	const double along = EARTH_RADIUS * DEGREE * 180 / sky_height(s);
	double area = 0;
	for (int64_t i = 0; i < n; i++)
		area += across * along * cos(sky_latitude(s, (int)(point[i] / sky_width(s))) * DEGREE);
	return area;
}

/* From corner to corner of the box. Longitudes count from the first point, so that a region across
 * 0 degrees is not as wide as the globe. */
static double diagonal_of(const struct sky *s, const int64_t *point, int64_t n)
{
	const int w = sky_width(s);
	const double from = sky_longitude(s, (int)(point[0] % w));
	double south = 90, north = -90, west = 0, east = 0;
	for (int64_t i = 0; i < n; i++) {
		const double lat = sky_latitude(s, (int)(point[i] / w));
		const double lon = remainder(sky_longitude(s, (int)(point[i] % w)) - from, 360);
		south = fmin(south, lat);
		north = fmax(north, lat);
		west = fmin(west, lon);
		east = fmax(east, lon);
	}
	return sky_distance(south, west, north, fmin(east, west + 180));
}

static void find_rivers(struct labeller *l, const struct sky *s, double threshold, uint8_t *to)
{
	const int64_t points = (int64_t)sky_width(s) * sky_height(s);
	const float *tmq = sky_values(s) + TMQ * points;
	for (int64_t i = 0; i < points; i++) {
		const double lat = sky_latitude(s, (int)(i / sky_width(s)));
		l->wanted[i] = (double)tmq[i] * (1 - exp(-lat * lat / (2 * 19 * 19))) > threshold;
	}
	for (int64_t i = 0; i < points; i++) {
		const int64_t n = l->wanted[i] == 1 ? flood(l, s, i) : 0;
		const double length = n ? diagonal_of(s, l->region, n) : 0;
		if (length > SHORTEST_RIVER && area_of(s, l->region, n) < WIDEST_RIVER * length)
			for (int64_t k = 0; k < n; k++)
				to[l->region[k]] = RIVER;
	}
}

/* --- cyclones --- */

static int by_value(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;
	return (x > y) - (x < y);
}

/* What 93 % of the values, or of their magnitudes, are not above. */
static float limit_of(struct labeller *l, const float *v, int64_t n, bool magnitudes)
{
	for (int64_t i = 0; i < n; i++)
		l->sorted[i] = magnitudes ? fabsf(v[i]) : v[i];
	qsort(l->sorted, (size_t)n, sizeof *l->sorted, by_value);
	return l->sorted[(int64_t)(SHARE * (double)(n - 1))];
}

struct limits {
	float tmq, u, v, rain;
};

static bool is_stormy(const float *value, int64_t points, int64_t i, const struct limits *above)
{
	return value[TMQ * points + i] > above->tmq &&
	       (fabsf(value[U850 * points + i]) > above->u ||
	        fabsf(value[V850 * points + i]) > above->v || value[PRECT * points + i] > above->rain);
}

static void label_storm(struct labeller *l, const struct sky *s, const struct storm *storm,
                        const struct limits *above, uint8_t *to)
{
	const int w = sky_width(s);
	const int64_t points = (int64_t)w * sky_height(s);
	const double reach = STORM_REACH * DEGREE * EARTH_RADIUS;
	int64_t best = 0, at = 0;
	for (int64_t i = 0; i < points; i++)
		l->wanted[i] = is_stormy(sky_values(s), points, i, above) &&
		               sky_distance(storm->lat, storm->lon, sky_latitude(s, (int)(i / w)),
		                            sky_longitude(s, (int)(i % w))) < reach;
	for (int64_t i = 0; i < points; i++) {
		const int64_t n = l->wanted[i] == 1 ? flood(l, s, i) : 0;
		if (n > best) {
			best = n;
			at = i;
		}
	}
	if (best == 0)
		return;
	for (int64_t i = 0; i < points; i++)
		l->wanted[i] = l->wanted[i] != 0;
	best = flood(l, s, at);
	for (int64_t k = 0; k < best; k++)
		to[l->region[k]] = CYCLONE;
}

void labeller_run(struct labeller *l, const struct sky *s, double threshold, uint8_t *to)
{
	const int64_t points = (int64_t)sky_width(s) * sky_height(s);
	const float *v = sky_values(s);
	const struct limits above = { limit_of(l, v + TMQ * points, points, false),
		limit_of(l, v + U850 * points, points, true), limit_of(l, v + V850 * points, points, true),
		limit_of(l, v + PRECT * points, points, false) };
	const struct storm *storm;
	const int n = sky_storms(s, &storm);
	memset(to, BACKGROUND, (size_t)points);
	find_rivers(l, s, threshold, to);
	for (int k = 0; k < n; k++)
		label_storm(l, s, &storm[k], &above, to);
}
