/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/predict/places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "yaml/ytree.h"

#define MOST_POINTS ((int64_t)1 << 28)
#define SLACK 1e-6           /* of an axis's length: coordinates may be rounded to float32 */

/* --- a grid --- */

static int read_range(const struct ypair *p, const struct points *points, double *low, double *high,
                      int64_t *n)
{
	const struct ynode *v = p->value;
	if (v->kind == Y_SEQ && v->n == 3 && y_float(v->item[0], low) && y_float(v->item[1], high) &&
	    y_int(v->item[2], n) && *n > 0)
		return 0;
	if (v->kind != Y_SCALAR || !y_int(v, n) || *n < 1)
		return ERR(E_USAGE, &v->loc, "'%s' must be a number of points, or [LOW, HIGH, POINTS]",
		           p->key);
	if (!points_reach(points, p->key, low, high))
		return ERR(E_USAGE, &v->loc, "no set of points says how far '%s' reaches; give [LOW, HIGH, "
		           "POINTS]", p->key);
	return 0;
}

static int read_axis(struct arena *a, const struct physics *p, const struct ypair *pair,
                     struct places *out)
{
	struct place_axis *x = &out->axis[out->naxes];
	double low, high;
	int64_t n;
	int k = 0;
	while (k < p->coordinates.n && strcmp(p->coordinates.v[k], pair->key) != 0)
		k++;
	if (k == p->coordinates.n)
		return ERR(E_USAGE, &pair->key_loc, "'%s' is no coordinate", pair->key);
	TRY(read_range(pair, &p->points, &low, &high, &n));
	if (n > MOST_POINTS / out->n)
		return ERR(E_USAGE, &pair->value->loc, "the grid has more than %lld points",
		           (long long)MOST_POINTS);
	double *values = ARENA_ARRAY(a, double, n);
	for (int64_t i = 0; i < n; i++)
		values[i] = n == 1 ? low : low + (high - low) * (double)i / (double)(n - 1);
	*x = (struct place_axis){ k, { .name = p->coordinates.v[k], .n = n, .values = values } };
	out->n *= n;
	out->naxes++;
	return 0;
}

static int check_fields(const struct physics *p)
{
	if (p->nevaluated)
		return 0;
	return ERR(E_USAGE, NULL, "no network is a function of %s, so that there is none to evaluate",
	           physics_has_samples(p) ? "noise alone; 'record: FILE' has the samples that networks "
	           "take" : "coordinates or noise alone");
}

int places_of_grid(struct arena *a, const struct physics *p, const struct ynode *map,
                   struct places *out)
{
	*out = (struct places){ .n = 1, .ncoordinates = p->coordinates.n };
	TRY(check_fields(p));
	if (p->coordinates.n == 0 && !(map && map->kind == Y_MAP && map->n == 0))
		return ERR(E_USAGE, map ? &map->loc : NULL, "networks of noise alone are evaluated on "
		           "'grid: {}'");
	if (!map || map->kind != Y_MAP || map->n != p->coordinates.n || map->n > MAXD - 2)
		return ERR(E_USAGE, map ? &map->loc : NULL, "networks of equations are evaluated on "
		           "'grid: {%s: POINTS%s}', which names each coordinate once", p->coordinates.v[0],
		           p->coordinates.n > 1 ? ", ..." : "");
	for (int i = 0; i < map->n; i++)
		TRY(read_axis(a, p, &map->pair[i], out));
	return 0;
}

double places_coordinate(const struct places *p, int k, int64_t i)
{
	if (p->naxes == 0)
		return p->coordinate[k][i];
	int axis = p->naxes - 1;
	for (; p->axis[axis].coordinate != k; axis--)
		i /= p->axis[axis].axis.n;
	return p->axis[axis].axis.values[i % p->axis[axis].axis.n];
}

/* --- a record --- */

static void put_pair(struct arena *a, struct ynode *map, const char *key, const char *text,
                     const struct loc *loc)
{
	struct ynode *n = ARENA_NEW(a, struct ynode);
	*n = (struct ynode){ .kind = Y_SCALAR, .loc = *loc, .text = text };
	map->pair[map->n++] = (struct ypair){ key, *loc, n };
}

/* {NAME: {record: FILE}} as it would be read from a config. */
static struct ynode *section(struct arena *a, const struct places_file *f)
{
	struct ynode *set = ARENA_NEW(a, struct ynode), *map = ARENA_NEW(a, struct ynode);
	const struct loc *loc = &f->loc;
	*set = *map = (struct ynode){ .kind = Y_MAP, .loc = *loc, .text = "" };
	set->pair = ARENA_ARRAY(a, struct ypair, 3);
	map->pair = ARENA_NEW(a, struct ypair);
	put_pair(a, set, "record", f->path, loc);
	if (f->sensors)
		put_pair(a, set, "sensors", f->sensors, loc);
	if (f->random)
		put_pair(a, set, "realizations", "1", loc);
	map->pair[map->n++] = (struct ypair){ "validation", *loc, set };
	return map;
}

int places_of_record(struct arena *a, const struct physics *p, const struct places_file *f,
                     const struct point_set **set, struct places *out)
{
	struct points *points = ARENA_NEW(a, struct points);
	TRY(check_fields(p));
	TRY(points_read(a, section(a, f), points));
	TRY(points_open(a, points, &p->coordinates));
	const struct point_set *s = *set = &points->set[0];
	*out = (struct places){ .n = s->stored, .ncoordinates = p->coordinates.n };
	for (int k = 0; k < p->coordinates.n; k++) {
		int axis = 0;
		while (axis < s->naxes && strcmp(s->axis[axis], p->coordinates.v[k]) != 0)
			axis++;
		if (axis == s->naxes)
			return ERR(E_DATA, &f->loc, "'%s' does not say '%s' of its points", f->path,
			           p->coordinates.v[k]);
		out->coordinate[k] = s->coordinate[axis];
	}
	return 0;
}

/* --- a list that is a grid --- */

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The different values of coordinate k, in order; what differs by rounding is the same. */
static int64_t different(const struct places *p, int k, double *v)
{
	int64_t n = 1;
	for (int64_t i = 0; i < p->n; i++)
		v[i] = places_coordinate(p, k, i);
	qsort(v, (size_t)p->n, sizeof *v, ascending);
	const double least = 1e-9 * (v[p->n - 1] - v[0]);
	for (int64_t i = 1; i < p->n; i++)
		if (v[i] - v[n - 1] > least)
			v[n++] = v[i];
	return n;
}

/* The last of n values that is not above x, but not the last of all; *share: how far x is on the
 * way to the next. */
static int64_t below(const double *v, int64_t n, double x, double *share)
{
	int64_t low = 0, high = n - 1;
	*share = 0;
	while (high - low > 1) {
		const int64_t middle = (low + high) / 2;
		if (v[middle] <= x)
			low = middle;
		else
			high = middle;
	}
	if (n > 1)
		*share = (x - v[low]) / (v[low + 1] - v[low]);
	return low;
}

bool lattice_of(struct arena *a, const struct places *p, struct lattice *out)
{
	int64_t all = 1;
	*out = (struct lattice){ .naxes = p->ncoordinates };
	if (p->ncoordinates > MAXD)
		return false;
	for (int k = 0; k < p->ncoordinates; k++) {
		double *v = ARENA_ARRAY(a, double, p->n);
		out->count[k] = different(p, k, v);
		out->value[k] = v;
		if (out->count[k] > p->n / all)
			return false;
		all *= out->count[k];
	}
	int64_t *place = ARENA_ARRAY(a, int64_t, all);
	for (int64_t i = 0; i < all; i++)
		place[i] = -1;
	for (int64_t i = 0; i < p->n; i++) {
		int64_t at = 0;
		for (int k = 0; k < p->ncoordinates; k++) {
			double share;
			at = at * out->count[k] + below(out->value[k], out->count[k],
			                                places_coordinate(p, k, i), &share);
			at += share > 0.5;
		}
		if (place[at] >= 0)
			return false;
		place[at] = i;
	}
	out->place = place;
	return all == p->n;
}

double lattice_at(const struct lattice *l, const double *v, const double *point)
{
	int64_t low[MAXD];
	double share[MAXD], sum = 0;
	for (int k = 0; k < l->naxes; k++) {
		const double *value = l->value[k];
		const int64_t n = l->count[k];
		const double slack = SLACK * (n > 1 ? value[n - 1] - value[0] : 1);
		if (!(point[k] >= value[0] - slack && point[k] <= value[n - 1] + slack))
			return NAN;
		low[k] = below(value, n, point[k], &share[k]);
		share[k] = fmin(fmax(share[k], 0), 1);
	}
	for (int corner = 0; corner < 1 << l->naxes; corner++) {
		double weight = 1;
		int64_t at = 0;
		for (int k = 0; k < l->naxes; k++) {
			const int up = corner >> k & 1;
			weight *= up ? share[k] : 1 - share[k];
			at = at * l->count[k] + low[k] + (up && l->count[k] > 1);
		}
		if (weight > 0)
			sum += weight * v[l->place[at]];
	}
	return sum;
}
