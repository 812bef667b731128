/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads boxes, disks and polygons of `points`. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "data/points_parts.h"
#include "yaml/schema_value.h"

/* So that no product of the lengths of all axes is too large or too small for a double. */
#define MOST 1e15
#define LEAST 1e-15
#define TOO_SMALL "expected at least %g: choose a smaller unit"

const struct field points_disk_fields[] = {
	FIELD_NODE(struct points_disk_config, center, NULL,
	           "the coordinates of its center, which name its two axes: {x: 0, y: 0}"),
	FIELD(struct points_disk_config, radius, FT_FLOAT, .dflt = "null", .min = LEAST, .max = MOST,
	      .flags = FIELD_NULLABLE, .doc = "its radius"),
	FIELD_END
};

const struct field points_polygon_fields[] = {
	FIELD_STRINGS(struct points_polygon_config, axes, NULL, "its two axes: [x, y]"),
	FIELD_NODE(struct points_polygon_config, points, NULL,
	           "its corners in order, [[0, 0], [1, 0], [1, 1]]; its edges may not cross"),
	FIELD_END
};

int points_number(const struct ynode *n, const char *what, double *out)
{
	struct arena *a;
	int rc;
	if (n->kind == Y_SCALAR && y_float(n, out) && fabs(*out) <= MOST)
		return 0;
	a = arena_new();
	rc = ERR(E_CONFIG, &n->loc, "%s must be a number from %g to %g, not %s", what, -MOST, MOST,
	         value_describe(a, n));
	arena_free(a);
	return rc;
}

bool points_is_name(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	while (isalnum((unsigned char)*s) || *s == '_')
		s++;
	return !*s;
}

int points_add_axis(struct points_region *r, const char *name, const struct loc *loc, int *out)
{
	*out = 0;
	if (!points_is_name(name))
		return ERR(E_CONFIG, loc, "'%s' is no name of an axis: expected letters, digits and '_'",
		           name);
	for (int i = 0; i < r->naxes; i++)
		if (strcmp(r->axis[i], name) == 0)
			return ERR(E_CONFIG, loc, "axis '%s' is there already", name);
	if (r->naxes == POINTS_DIMS)
		return ERR(E_CONFIG, loc, "axis '%s' is one too many: expected at most %d", name,
		           POINTS_DIMS);
	*out = r->naxes;
	r->axis[r->naxes++] = name;
	return 0;
}

/* --- box --- */

/* Two numbers, the first one below the second. */
static int read_pair(struct arena *a, const char *axis, const struct ynode *n, double *low,
                     double *high)
{
	const char *what = arena_printf(a, "each end of '%s'", axis);
	if (n->kind != Y_SEQ || n->n != 2)
		return ERR(E_CONFIG, &n->loc, "'%s' must have two ends, [LO, HI], not %s%s", axis,
		           value_describe(a, n), n->kind == Y_SEQ && n->n ? " of another length" : "");
	TRY(points_number(n->item[0], what, low));
	TRY(points_number(n->item[1], what, high));
	if (!(*low < *high))
		return ERR(E_CONFIG, &n->loc, "'%s' goes from %s to %s: expected LO < HI%s", axis,
		           n->item[0]->text, n->item[1]->text,
		           *low == *high ? "; for one value write the value alone" : "");
	if (*high - *low < LEAST)
		return ERR(E_CONFIG, &n->loc, "'%s' is %g long; " TOO_SMALL, axis, *high - *low, LEAST);
	return 0;
}

static int read_axis(struct arena *a, const struct ypair *p, struct points_factor *f)
{
	const struct ynode *n = p->value;
	if (n->kind == Y_SEQ) {
		f->kind = FACTOR_INTERVAL;
		return read_pair(a, p->key, n, &f->low, &f->high);
	}
	if (n->kind == Y_MAP && n->n == 1 && strcmp(n->pair[0].key, "ends") == 0) {
		f->kind = FACTOR_ENDS;
		return read_pair(a, p->key, n->pair[0].value, &f->low, &f->high);
	}
	f->kind = FACTOR_VALUE;
	if (n->kind == Y_SCALAR)
		return points_number(n, arena_printf(a, "'%s'", p->key), &f->low);
	return ERR(E_CONFIG, &n->loc, "'%s' must be an interval [LO, HI], a value, or its two ends, "
	           "{ends: [LO, HI]}, not %s", p->key, value_describe(a, n));
}

static int read_box(struct arena *a, const struct ypair *key, struct points_region *r)
{
	const struct ynode *box = key->value;
	int rc = 0;
	if (box->kind != Y_MAP || box->n == 0)
		return ERR(E_CONFIG, &box->loc, "'box' must be a map of axes, {x: [0, 1]}, not %s",
		           value_describe(a, box));
	for (int i = 0; i < box->n; i++) {
		const struct ypair *p = &box->pair[i];
		struct points_factor f = { 0 };
		const int bad = points_add_axis(r, p->key, &p->key_loc, &f.axis[0]);
		rc = first_code(rc, bad);
		rc = first_code(rc, read_axis(a, p, &f));
		if (bad == 0)
			r->factor[r->nfactors++] = f;
	}
	return rc;
}

/* A value that is there and was not taken: schema_read has said why. */
static bool was_reported(const struct ynode *n)
{
	return n && !y_is_null(n);
}

/* --- disk --- */

static int missing(const struct ypair *key, const char *what)
{
	return ERR(E_CONFIG, &key->key_loc, "missing key '%s' in '%s'", what, key->key);
}

static int read_disk(struct arena *a, const struct points_disk_config *c, const struct ypair *key,
                     struct points_region *r)
{
	struct points_factor f = { .kind = FACTOR_DISK, .radius = c->radius };
	int rc = 0;
	if (key->value->kind != Y_MAP && was_reported(key->value))
		return E_CONFIG;
	if (!c->center)
		return missing(key, "center");
	if (isnan(c->radius))
		return was_reported(ytree_find(key->value, "radius")) ? E_CONFIG : missing(key, "radius");
	if (c->center->kind != Y_MAP || c->center->n != 2)
		return ERR(E_CONFIG, &c->center->loc, "'center' must be a map of two axes, {x: 0, y: 0}, "
		           "not %s%s", value_describe(a, c->center),
		           c->center->kind == Y_MAP ? " of another size" : "");
	for (int d = 0; d < 2; d++) {
		const struct ypair *p = &c->center->pair[d];
		rc = first_code(rc, points_add_axis(r, p->key, &p->key_loc, &f.axis[d]));
		rc = first_code(rc, points_number(p->value, "a coordinate of 'center'", &f.center[d]));
	}
	if (rc == 0)
		r->factor[r->nfactors++] = f;
	return rc;
}

/* --- polygon --- */

static int read_corners(struct arena *a, const struct ynode *n, double (**out)[2])
{
	int rc = 0;
	if (n->kind != Y_SEQ || n->n < 3 || n->n > POLYGON_MOST)
		return ERR(E_CONFIG, &n->loc, "'points' of a polygon must be a list of 3 to %d corners, "
		           "[[0, 0], [1, 0], [1, 1]]", POLYGON_MOST);
	*out = arena_alloc(a, sizeof **out * (size_t)n->n);
	for (int i = 0; i < n->n; i++) {
		const struct ynode *corner = n->item[i];
		if (corner->kind != Y_SEQ || corner->n != 2) {
			rc = first_code(rc, ERR(E_CONFIG, &corner->loc, "a corner must be a list of two "
			                        "coordinates, not %s", value_describe(a, corner)));
			continue;
		}
		for (int d = 0; d < 2; d++)
			rc = first_code(rc, points_number(corner->item[d], "a coordinate of a corner",
			                                  &(*out)[i][d]));
	}
	return rc;
}

static int read_polygon(struct arena *a, const struct points_polygon_config *c,
                        const struct ypair *key, struct points_region *r)
{
	struct points_factor f = { .kind = FACTOR_POLYGON };
	const struct ynode *axes = ytree_find(key->value, "axes");
	double (*corner)[2] = NULL;
	int edge[2], rc = 0;
	if (key->value->kind != Y_MAP && was_reported(key->value))
		return E_CONFIG;
	if (c->axes.n == 0)
		return axes && axes->kind == Y_MAP ? E_CONFIG : missing(key, "axes");
	if (!c->points)
		return missing(key, "points");
	if (c->axes.n != 2)
		rc = ERR(E_CONFIG, &c->axes.loc[0], "'axes' of a polygon must be two names, [x, y]");
	for (int d = 0; d < 2 && rc == 0; d++)
		rc = points_add_axis(r, c->axes.v[d], &c->axes.loc[d], &f.axis[d]);
	rc = first_code(rc, read_corners(a, c->points, &corner));
	if (rc < 0)
		return rc;
	if (points_polygon_crosses(c->points->n, (const double (*)[2])corner, edge))
		return ERR(E_CONFIG, &c->points->item[edge[1]]->loc, "the edge from corner %d to corner %d "
		           "crosses or touches the one from %d to %d: expected a polygon whose edges meet "
		           "at its corners alone", edge[1] + 1, (edge[1] + 1) % c->points->n + 1,
		           edge[0] + 1, edge[0] + 2);
	f.polygon = points_polygon_new(a, c->points->n, (const double (*)[2])corner);
	if (!(f.polygon->area >= LEAST * LEAST))
		return ERR(E_CONFIG, &key->key_loc, "the area of the polygon is %g; " TOO_SMALL,
		           f.polygon->area, LEAST * LEAST);
	r->factor[r->nfactors++] = f;
	return 0;
}

int points_read_shape(struct arena *a, const struct points_shape_config *c, const struct ypair *key,
                      struct points_region *r)
{
	if (strcmp(key->key, "box") == 0)
		return read_box(a, key, r);
	if (strcmp(key->key, "disk") == 0)
		return read_disk(a, &c->disk, key, r);
	if (strcmp(key->key, "polygon") == 0)
		return read_polygon(a, &c->polygon, key, r);
	return 0;
}
