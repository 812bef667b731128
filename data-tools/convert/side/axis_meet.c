/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/convert/side/axis_meet.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/axes_match.h"
#include "data-tools/convert/side/unit_relation.h"

#define TOLERANCE 1e-3       /* of the spacing: more than what float32 leaves of a coordinate */

/* --- values that can be compared --- */

struct values {
	int64_t n;
	const double *v;
	double period;             /* 360 of longitudes; else 0 */
	double rounding;           /* what float32 may have left of one */
};

/* The numbers of a date count from one that the file chose, to which their rounding is relative. */
static double rounding(const struct axis *x, double factor, double offset)
{
	double most = 0;
	for (int64_t i = 0; i < x->n; i++)
		most = fmax(most, fabs(x->values[i]));
	return fabs(factor) * most * FLT_EPSILON + (fabs(factor) * most + fabs(offset)) * 1e-13;
}

static const double *scaled(struct arena *a, const struct axis *x, double factor, double offset)
{
	double *v;
	if (factor == 1 && offset == 0)
		return x->values;
	v = ARENA_ARRAY(a, double, x->n + 1);
	for (int64_t i = 0; i < x->n; i++)
		v[i] = x->values[i] * factor + offset;
	return v;
}

/* As far as both say it, as of a GeoTIFF. */
static bool same_system(const struct axis *want, const struct axis *got)
{
	const char *w = axis_text(want, "epsg"), *g = axis_text(got, "epsg");
	return !w || !g || strcmp(w, g) == 0;
}

/* Both in the units of the first; dates as seconds. false: they
 * cannot be compared. */
static bool comparable(struct arena *a, const struct axis *want, const struct axis *got, char role,
                       struct values *w, struct values *g)
{
	const char *wu = axis_text(want, "units"), *gu = axis_text(got, "units"),
	           *wc = axis_text(want, "calendar"), *gc = axis_text(got, "calendar");
	const char *up = axis_text(want, "positive"), *other_up = axis_text(got, "positive");
	double wf, wo, gf, go;
	if ((up && other_up && strcasecmp(up, other_up) != 0) || !same_system(want, got))
		return false;
	*w = (struct values){ want->n, want->values, role == 'X' && axis_is_longitude(want) ? 360 : 0,
		                  rounding(want, 1, 0) };
	*g = (struct values){ got->n, got->values, w->period, rounding(got, 1, 0) };
	if (units_time(wu, wc, &wf, &wo) && units_time(gu, gc, &gf, &go)) {
		if (!units_same_calendar(wc, gc))
			return false;
		w->v = scaled(a, want, wf, wo);
		g->v = scaled(a, got, gf, go);
		w->rounding = rounding(want, wf, wo);
		g->rounding = rounding(got, gf, go);
		return true;
	}
	if (units_relate(gu, wu, &gf, &go) == UNITS_OTHER)
		return false;
	g->v = scaled(a, got, gf, go);
	g->rounding = rounding(got, gf, go);
	return true;
}

static double distance(double x, double y, double period)
{
	const double d = fabs(x - y);
	return period > 0 ? fabs(remainder(d, period)) : d;
}

static double tolerance(const struct values *w, const struct values *g)
{
	double spacing = INFINITY;
	for (int64_t i = 1; i < w->n; i++) {
		const double step = fabs(w->v[i] - w->v[i - 1]);

		spacing = step > 0 && step < spacing ? step : spacing;
	}
	return spacing < INFINITY ? TOLERANCE * spacing : w->rounding + g->rounding;
}

/* --- finding the values of one in the other --- */

struct place {
	double v;
	int64_t at;
};

static int compare(const void *x, const void *y)
{
	const double a = ((const struct place *)x)->v, b = ((const struct place *)y)->v;
	return (a > b) - (a < b);
}

static double canonical(double v, double period)
{
	const double r = period > 0 ? fmod(v, period) : v;
	return period > 0 && r < 0 ? r + period : r;
}

/* The element of the sorted list with this value, or -1. */
static int64_t find(const struct place *list, int64_t n, double v, double period, double within)
{
	int64_t low = 0, high = n;
	v = canonical(v, period);
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;

		if (list[middle].v < v)
			low = middle + 1;
		else
			high = middle;
	}
	/* the neighbours of the last are the first where values come round again */
	for (int64_t k = low - 1; k <= low; k++) {
		const struct place *p = &list[(k + n) % n];

		if (distance(p->v, v, period) <= within)
			return p->at;
	}
	return -1;
}

/* Of each value of w, the element of g that has it, or -1; returns how many have one. */
static int64_t find_all(struct arena *a, const struct values *w, const struct values *g,
                        int64_t *element)
{
	struct place *list = ARENA_ARRAY(a, struct place, g->n + 1);
	const double within = tolerance(w, g);
	int64_t found = 0;
	for (int64_t i = 0; i < g->n; i++)
		list[i] = (struct place){ canonical(g->v[i], g->period), i };
	qsort(list, (size_t)g->n, sizeof *list, compare);
	for (int64_t i = 0; i < w->n; i++) {
		element[i] = g->n ? find(list, g->n, w->v[i], w->period, within) : -1;
		found += element[i] >= 0;
	}
	return found;
}

static bool each_once(struct arena *a, const int64_t *element, int64_t n)
{
	bool *seen = ARENA_ARRAY(a, bool, n + 1);
	for (int64_t i = 0; i < n; i++)
		seen[i] = false;
	for (int64_t i = 0; i < n; i++) {
		if (seen[element[i]])
			return false;
		seen[element[i]] = true;
	}
	return true;
}

static enum axis_order order_of(const int64_t *element, int64_t n)
{
	bool reversed = true, rolled = true;
	for (int64_t i = 0; i < n; i++) {
		reversed &= element[i] == n - 1 - i;
		rolled &= element[i] == (element[0] + i) % n;
	}
	return reversed ? ORDER_REVERSED : rolled ? ORDER_ROLLED : ORDER_REORDERED;
}

static bool is_same(const struct values *w, const struct values *g, double shift, double within)
{
	for (int64_t i = 0; i < w->n; i++)
		if (!(distance(w->v[i] + shift, g->v[i], w->period) <= within) &&
		    !(isnan(w->v[i]) && isnan(g->v[i])))
			return false;
	return true;
}

struct axis_meeting axis_meet(struct arena *a, const struct axis *want, const struct axis *got,
                              char role)
{
	struct axis_meeting m = { .order = ORDER_UNKNOWN };
	struct values w, g;
	int64_t *element;
	if (!want->values || !got->values)
		return m;
	m.order = same_system(want, got) ? ORDER_UNITS : ORDER_SYSTEM;
	if (!comparable(a, want, got, role, &w, &g))
		return m;
	m.order = ORDER_OTHER;
	if (w.n != g.n || w.n == 0)
		return m;
	const double within = tolerance(&w, &g);
	if (is_same(&w, &g, 0, within)) {
		m.order = ORDER_SAME;
		return m;
	}
	m.shift = g.v[0] - w.v[0];
	if (w.period == 0 && is_same(&w, &g, m.shift, within))
		m.order = ORDER_SHIFTED;
	element = ARENA_ARRAY(a, int64_t, w.n + 1);
	if (find_all(a, &w, &g, element) == w.n && each_once(a, element, w.n)) {
		m.order = order_of(element, w.n);
		m.element = element;
	}
	return m;
}

int64_t axis_join(struct arena *a, const struct axis *want, const struct axis *got, char role,
                  const int64_t **of_want, const int64_t **of_got)
{
	int64_t *element = ARENA_ARRAY(a, int64_t, want->n + 1),
	        *x = ARENA_ARRAY(a, int64_t, want->n + 1), *y = ARENA_ARRAY(a, int64_t, want->n + 1),
	        n = 0;
	struct values w, g;
	if (!comparable(a, want, got, role, &w, &g))
		return -1;
	find_all(a, &w, &g, element);
	for (int64_t i = 0; i < want->n; i++)
		if (element[i] >= 0) {
			x[n] = i;
			y[n++] = element[i];
		}
	*of_want = x;
	*of_got = y;
	return n;
}

const double *axis_in_units_of(struct arena *a, const struct axis *want, const struct axis *got)
{
	const char *wu = axis_text(want, "units"), *gu = axis_text(got, "units"),
	           *wc = axis_text(want, "calendar"), *gc = axis_text(got, "calendar");
	double wf, wo, gf, go;
	if (!got->values)
		return NULL;
	if (units_time(wu, wc, &wf, &wo) && units_time(gu, gc, &gf, &go))
		return units_same_calendar(wc, gc) ? scaled(a, got, gf / wf, (go - wo) / wf) : NULL;
	return units_relate(gu, wu, &gf, &go) == UNITS_OTHER ? NULL : scaled(a, got, gf, go);
}

int axis_direction(const struct axis *x)
{
	int sign;
	if (!x->values || x->n < 2 || x->values[0] == x->values[1])
		return 0;
	sign = x->values[1] > x->values[0] ? 1 : -1;
	for (int64_t i = 1; i < x->n; i++)
		if (!(sign * (x->values[i] - x->values[i - 1]) > 0))
			return 0;
	return sign;
}
