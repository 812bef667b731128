/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each field has a row of panels. On one axis these are the curves of the network and of the known
 * values, and their difference; on two axes a map of each. Random fields have the same panels for
 * mean and standard deviation, except that on one axis bands are drawn and no difference. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "report/figure.h"
#include "train/predict/predicted_fields.h"

enum { NETWORK_COLOUR, KNOWN_COLOUR = 4 };

struct pictures {
	const struct predicted_fields *p;
	const struct known *known;       /* on a lattice, or NULL */
	struct lattice lattice;
	struct arena *a;
	int axis[2], naxes;              /* those of more than one place: across, upwards */
	const char *where;               /* the coordinates of the others */
	int npanels, columns;
	struct figure_panel *panel;
};

/* The first axis goes across. */
static int choose_axes(struct pictures *c)
{
	const struct places *places = &c->p->places;
	struct buf where = BUF_INIT;
	int n = 0;
	for (int k = 0; k < places->naxes; k++) {
		const struct axis *x = &places->axis[k].axis;
		if (x->n == 1)
			buf_printf(&where, ", %s = %.4g", x->name, x->values[0]);
		else if (n++ < 2)
			c->axis[n - 1] = k;
	}
	c->where = arena_strdup(c->a, where.data);
	buf_release(&where);
	c->naxes = n;
	if (n == 1 || n == 2)
		return 0;
	return ERR(E_USAGE, NULL, "a picture is of a grid with one or two axes of several points, and "
	           "this has %d; an axis at one value is '[VALUE, VALUE, 1]'", n);
}

static const struct axis *axis_of(const struct pictures *c, int i)
{
	return &c->p->places.axis[c->axis[i]].axis;
}

/* How far apart two neighbours along an axis are. */
static int64_t step_of(const struct pictures *c, int i)
{
	int64_t step = 1;
	for (int k = c->p->places.naxes - 1; k > c->axis[i]; k--)
		step *= c->p->places.axis[k].axis.n;
	return step;
}

/* --- known values --- */

static const struct known_field *find_known(const struct pictures *c, const char *name)
{
	for (int i = 0; c->known && i < c->known->n; i++)
		if (strcmp(c->known->field[i].name, name) == 0)
			return &c->known->field[i];
	return NULL;
}

/* Interpolates values v at the known places to the places of the picture; NULL if v is NULL. */
static const double *interpolate(const struct pictures *c, const double *v)
{
	const struct places *places = &c->p->places;
	double point[MAXD];
	if (!v)
		return NULL;
	double *out = ARENA_ARRAY(c->a, double, places->n);
	for (int64_t i = 0; i < places->n; i++) {
		for (int k = 0; k < places->ncoordinates; k++)
			point[k] = places_coordinate(places, k, i);
		out[i] = lattice_at(&c->lattice, v, point);
	}
	return out;
}

static const double *minus(struct arena *a, const double *v, const double *w, int64_t n)
{
	double *out = ARENA_ARRAY(a, double, n);
	for (int64_t i = 0; i < n; i++)
		out[i] = v[i] - w[i];
	return out;
}

/* --- panels --- */

static struct figure_panel *add_panel(struct pictures *c, const char *name, const char *what)
{
	struct figure_panel *p = &c->panel[c->npanels++];
	p->title = arena_printf(c->a, "%s%s%s", name, what, c->where);
	p->x_label = axis_of(c, 0)->name;
	return p;
}

static void add_map(struct pictures *c, const char *name, const char *what, const double *v,
                    bool is_signed, double low, double high)
{
	struct figure_map *m = ARENA_NEW(c->a, struct figure_map);
	struct figure_panel *p = add_panel(c, name, what);
	const struct axis *x = axis_of(c, 0), *y = axis_of(c, 1);
	*m = (struct figure_map){ .columns = (int)x->n, .rows = (int)y->n,
		.x = { x->values[0], x->values[x->n - 1] }, .y = { y->values[0], y->values[y->n - 1] },
		.v = v, .x_step = step_of(c, 0), .y_step = step_of(c, 1), .low = low, .high = high,
		.is_signed = is_signed };
	p->map = m;
	p->y_label = y->name;
}

static void widen(const double *v, int64_t n, double *low, double *high)
{
	for (int64_t i = 0; v && i < n; i++)
		if (isfinite(v[i])) {
			*low = fmin(*low, v[i]);
			*high = fmax(*high, v[i]);
		}
}

/* The network, the known values and the difference; the first two have one scale. */
static void add_maps(struct pictures *c, const char *name, const double *v, const double *known)
{
	const int64_t n = c->p->places.n;
	double low = INFINITY, high = -INFINITY, least = 0, most = 0;
	widen(v, n, &low, &high);
	widen(known, n, &low, &high);
	add_map(c, name, "", v, false, low, high);
	if (!known)
		return;
	const double *error = minus(c->a, v, known, n);
	widen(error, n, &least, &most);
	most = fmax(most, -least);
	add_map(c, name, ", known", known, false, low, high);
	add_map(c, name, ", difference", error, true, -most, most);
}

static struct figure_curve curve(const struct pictures *c, const char *name, const double *v,
                                 bool known)
{
	return (struct figure_curve){ .name = name, .colour = known ? KNOWN_COLOUR : NETWORK_COLOUR,
		.dashed = known, .n = (int)axis_of(c, 0)->n, .x = axis_of(c, 0)->values, .y = v };
}

static void add_curves(struct pictures *c, const char *name, const double *v, const double *known)
{
	struct figure_curve *both = ARENA_ARRAY(c->a, struct figure_curve, 3);
	struct figure_panel *p = add_panel(c, name, "");
	both[0] = curve(c, known ? "network" : NULL, v, false);
	p->curve = both;
	p->n = 1;
	if (!known)
		return;
	both[1] = curve(c, "known", known, true);
	p->n = 2;
	both[2] = curve(c, NULL, minus(c->a, v, known, c->p->places.n), false);
	p = add_panel(c, name, ", difference");
	p->curve = &both[2];
	p->n = 1;
}

static void add_values(struct pictures *c, const char *name, const char *what, const double *v,
                       const double *known)
{
	const char *title = arena_printf(c->a, "%s%s", name, what);
	if (c->naxes == 1)
		add_curves(c, title, v, interpolate(c, known));
	else
		add_maps(c, title, v, interpolate(c, known));
}

/* The mean in the band of the quantiles, then the deviation: each of the network and as known. */
static void add_bands(struct pictures *c, const char *name, const struct ensemble *e,
                      const struct ensemble *known)
{
	const struct ensemble none = { 0 };
	for (int i = 0; i < 2; i++) {
		struct figure_curve *both = ARENA_ARRAY(c->a, struct figure_curve, 2);
		struct figure_panel *p = add_panel(c, name, i ? ", deviation" : ", mean, 5 to 95 %");
		const struct ensemble *k = known ? known : &none;
		both[0] = curve(c, known ? "network" : NULL, i ? e->deviation : e->mean, false);
		both[1] = curve(c, "known", interpolate(c, i ? k->deviation : k->mean), true);
		if (i == 0) {
			both[0].low = e->low;
			both[0].high = e->high;
			both[1].low = interpolate(c, k->low);
			both[1].high = interpolate(c, k->high);
		}
		p->curve = both;
		p->n = known ? 2 : 1;
	}
}

static void add_field(struct pictures *c, const struct predicted_field *f)
{
	const struct known_field *known = find_known(c, f->name);
	if (f->law && c->naxes == 1) {
		add_bands(c, f->name, f->law, known ? &known->law : NULL);
	} else if (f->law) {
		add_values(c, f->name, ", mean", f->law->mean, known ? known->law.mean : NULL);
		c->npanels = (c->npanels + c->columns - 1) / c->columns * c->columns;
		add_values(c, f->name, ", deviation", f->law->deviation,
		           known ? known->law.deviation : NULL);
	} else {
		add_values(c, f->name, "", f->v, known ? known->v : NULL);
	}
	c->npanels = (c->npanels + c->columns - 1) / c->columns * c->columns;
}

int predicted_fields_draw(const struct predicted_fields *p, const struct known *known,
                          struct arena *a, const char *path)
{
	struct pictures c = { .p = p, .known = known, .a = a };
	if (p->places.naxes == 0)
		return ERR(E_USAGE, NULL, "a picture is of a grid; points are written as .nc, .h5, .npy or "
		           ".csv");
	TRY(choose_axes(&c));
	if (known && !lattice_of(a, &known->places, &c.lattice)) {
		note("the picture is without known values: their places are no grid");
		c.known = NULL;
	}
	const bool random = p->n && p->field[0].law;
	c.columns = c.naxes == 1 ? (random || c.known ? 2 : 1) : c.known ? 3 : 1;
	c.panel = ARENA_ARRAY(a, struct figure_panel, 6 * p->n + 1);
	for (int i = 0; i < p->n; i++)
		add_field(&c, &p->field[i]);
	return figure_write(path, c.panel, c.npanels, c.columns);
}
