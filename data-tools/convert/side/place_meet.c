/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A curvilinear grid has no coordinates on its axes. A reversed axis is found by comparing all
 * latitudes and longitudes, along both axes in both directions. */
#include "data-tools/convert/side/place_meet.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "data-tools/convert/side/axis_role.h"
#include "base/shown.h"
#include "data/axes_match.h"

#define TOLERANCE 1e-3       /* of the mean spacing: neighbours may have nearly the same latitude */

/* Coordinates on two axes, as an array whose axes are those of `want`, in its order. */
struct grid {
	const char *name;
	char role;
	bool longitude;
	int axis[2];               /* of want: those of its rows and columns */
	int own[2];                /* the same, of the array that it is of */
	int64_t n[2], step[2];
	enum dtype dtype;
	const void *values;
};

/* false: a field that is no latitude or longitude on two axes that both arrays have. */
static bool grid_of(const struct axes *of, const struct axis_field *f, const int *partner,
                    struct grid *out)
{
	const struct axis x = { f->name, 0, NULL, f->attributes.n, f->attributes.v };
	*out = (struct grid){ f->name, axis_role(&x, 0), axis_is_longitude(&x), .dtype = f->dtype,
		                  .values = f->values };
	if (f->nd != 2 || (out->role != 'X' && out->role != 'Y'))
		return false;
	for (int i = 0; i < 2; i++) {
		out->own[i] = f->on[i];
		out->axis[i] = partner ? partner[f->on[i]] : f->on[i];
		out->n[i] = of->axis[f->on[i]].n;
	}
	out->step[0] = out->n[1];
	out->step[1] = 1;
	return out->axis[0] >= 0 && out->axis[1] >= 0 && out->axis[0] != out->axis[1];
}

static void transpose(struct grid *g)
{
	*g = (struct grid){ g->name, g->role, g->longitude, { g->axis[1], g->axis[0] },
		                { g->own[1], g->own[0] }, { g->n[1], g->n[0] },
		                { g->step[1], g->step[0] }, g->dtype, g->values };
}

static double value(const struct grid *g, int64_t y, int64_t x, unsigned flip)
{
	y = flip & 1 ? g->n[0] - 1 - y : y;
	x = flip & 2 ? g->n[1] - 1 - x : x;
	return dtype_get(g->dtype, g->values, y * g->step[0] + x * g->step[1]);
}

static double distance(double a, double b, bool longitude)
{
	return longitude ? fabs(remainder(a - b, 360)) : fabs(a - b);
}

/* The larger one of the mean distances between neighbours along either axis. */
static double spacing(const struct grid *g)
{
	double most = 0;
	for (int k = 0; k < 2; k++) {
		double sum = 0, n = 0;

		for (int64_t y = k == 0; y < g->n[0]; y++)
			for (int64_t x = k == 1; x < g->n[1]; x++) {
				const double d = distance(value(g, y, x, 0), value(g, y - (k == 0), x - (k == 1),
				                                                   0), g->longitude);

				sum += isnan(d) ? 0 : d;
				n += !isnan(d);
			}
		most = n > 0 ? fmax(most, sum / n) : most;
	}
	return most;
}

/* Places that one of them does not say are as the other has them. */
static bool is_same(const struct grid *w, const struct grid *g, unsigned flip)
{
	const double within = TOLERANCE * spacing(w);
	for (int64_t y = 0; y < w->n[0]; y++)
		for (int64_t x = 0; x < w->n[1]; x++) {
			const double a = value(w, y, x, 0), b = value(g, y, x, flip);

			if (distance(a, b, w->longitude) > fmax(within, fabs(a) * FLT_EPSILON))
				return false;
		}
	return true;
}

static void put_grid(const struct grid *g, const char *file, struct buf *out)
{
	buf_shown(out, g->name);
	buf_printf(out, " %.10g ... %.10g (%lld x %lld of them) in '%s'", value(g, 0, 0, 0),
	           value(g, g->n[0] - 1, g->n[1] - 1, 0), (long long)g->n[0], (long long)g->n[1],
	           shown(file));
}

/* The grid of `want` that is of the same kind as g, on the same axes. */
static bool find_grid(const struct axes *want, const struct grid *g, struct grid *out)
{
	bool found = false;
	for (int k = 0; k < want->nfields && !found; k++) {
		if (!grid_of(want, &want->field[k], NULL, out) || out->role != g->role)
			continue;
		if (out->axis[0] == g->axis[1] && out->axis[1] == g->axis[0])
			transpose(out);
		found = out->axis[0] == g->axis[0] && out->axis[1] == g->axis[1] &&
		        out->n[0] == g->n[0] && out->n[1] == g->n[1];
	}
	return found;
}

enum place_order place_meet(const struct axes *want, const struct axes *got, const int *partner,
                            const char *const file[2], unsigned *reversed, struct buf *out)
{
	struct grid w, g, first_w, first_g;
	unsigned possible = 15;          /* a bit for each set of axes that are reversed; bit 0: none */
	bool any = false;
	for (int k = 0; k < got->nfields; k++) {
		if (!grid_of(got, &got->field[k], partner, &g))
			continue;
		if (any && (g.own[0] != first_g.own[0] || g.own[1] != first_g.own[1]))
			transpose(&g);
		if (!find_grid(want, &g, &w) || (any && g.own[0] != first_g.own[0]))
			continue;
		first_w = any ? first_w : w;
		first_g = any ? first_g : g;
		any = true;
		for (unsigned flip = 0; flip < 4; flip++)
			if (possible >> flip & 1 && !is_same(&w, &g, flip))
				possible &= ~(1u << flip);
	}
	if (!any || possible & 1)
		return any ? PLACES_SAME : PLACES_UNKNOWN;
	if (possible == 0) {
		put_grid(&first_w, file[0], out);
		buf_puts(out, ", but ");
		put_grid(&first_g, file[1], out);
		return PLACES_OTHER;
	}
	const unsigned flip = possible & 2 ? 1 : possible & 4 ? 2 : 3;
	*reversed = (flip & 1 ? 1u << first_g.own[0] : 0) | (flip & 2 ? 1u << first_g.own[1] : 0);
	return PLACES_REVERSED;
}

/* --- projections --- */

/* On which a place of the same coordinates hardly depends. */
static bool is_figure(const char *name)
{
	static const char *const names[] = { "earth_radius", "semi_major_axis", "semi_minor_axis",
		"inverse_flattening", "longitude_of_prime_meridian", NULL };
	int i = 0;
	while (names[i] && strcmp(names[i], name) != 0)
		i++;
	return names[i] != NULL;
}

static bool same_attribute(const struct axis_attribute *x, const struct axis_attribute *y)
{
	if (x->text || y->text)
		return !x->text || !y->text || strcmp(x->name, "grid_mapping_name") != 0 ||
		       strcmp(x->text, y->text) == 0;
	for (int i = 0; i < x->n && x->n == y->n; i++)
		if (fabs(x->values[i] - y->values[i]) > 1e-6 * fmax(1, fabs(x->values[i])))
			return false;
	return x->n == y->n;
}

static void put_attribute(const struct axis_attribute *x, const char *file, struct buf *out)
{
	buf_shown(out, x->name);
	buf_putc(out, ' ');
	if (x->text)
		buf_shown(out, x->text);
	for (int i = 0; !x->text && i < x->n; i++)
		buf_printf(out, "%s%.10g", i ? ", " : "", x->values[i]);
	buf_printf(out, " in '%s'", shown(file));
}

bool place_same_projection(const struct axes *want, const struct axes *got,
                           const char *const file[2], struct buf *out)
{
	if (want->nmappings != 1 || got->nmappings != 1)
		return true;
	const struct axis_attributes *w = &want->mapping->attributes, *g = &got->mapping->attributes;
	for (int i = 0; i < w->n; i++)
		for (int k = 0; k < g->n; k++)
			if (strcmp(w->v[i].name, g->v[k].name) == 0 && !is_figure(w->v[i].name) &&
			    !same_attribute(&w->v[i], &g->v[k])) {
				put_attribute(&w->v[i], file[0], out);
				buf_puts(out, ", but ");
				put_attribute(&g->v[k], file[1], out);
				return false;
			}
	return true;
}
