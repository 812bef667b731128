/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Zone z of UTM has the central meridian 6 z - 183; 326zz are the northern zones of WGS 84, 327zz
 * the southern ones, 258zz those of ETRS89, 269zz those of NAD83. */
#include "data/epsg.h"

#include <stdlib.h>
#include <string.h>

#define ATTRIBUTE "epsg"

struct ellipsoid { double axis, flattening; };
static const struct ellipsoid wgs84 = { 6378137, 298.257223563 },
                              grs80 = { 6378137, 298.257222101 };

static const struct zones {
	int first, last;                 /* numbers in the registry */
	int zone;                        /* of the first */
	double northing;
	const struct ellipsoid *ellipsoid;
} utm[] = {
	{ 32601, 32660, 1, 0, &wgs84 }, { 32701, 32760, 1, 1e7, &wgs84 },
	{ 25828, 25838, 28, 0, &grs80 }, { 26901, 26923, 1, 0, &grs80 },
};

static const struct { int code; const struct ellipsoid *ellipsoid; } degrees[] = {
	{ 4326, &wgs84 }, { 4258, &grs80 }, { 4269, &grs80 },
};

/* --- lists of attributes --- */

struct list {
	struct arena *a;
	struct axis_attribute *v;
	int n;
};

static bool has(const struct list *l, const char *name)
{
	for (int i = 0; i < l->n; i++)
		if (strcmp(l->v[i].name, name) == 0)
			return true;
	return false;
}

/* Where there is none of the name. */
static void add_text(struct list *l, const char *name, const char *text)
{
	if (!has(l, name))
		l->v[l->n++] = (struct axis_attribute){ .name = name, .text = text };
}

static void add_number(struct list *l, const char *name, double value)
{
	l->v[l->n++] = (struct axis_attribute){ .name = name, .n = 1,
		.values = arena_copy(l->a, &value, sizeof value) };
}

/* --- the mapping --- */

static const char *text_of(const struct axis *x)
{
	for (int i = 0; i < x->nattributes; i++)
		if (x->attribute[i].text && strcmp(x->attribute[i].name, ATTRIBUTE) == 0)
			return x->attribute[i].text;
	return NULL;
}

static void add_ellipsoid(struct list *l, const struct ellipsoid *e)
{
	add_number(l, "semi_major_axis", e->axis);
	add_number(l, "inverse_flattening", e->flattening);
}

static bool add_utm(struct list *l, int code)
{
	for (size_t i = 0; i < sizeof utm / sizeof *utm; i++) {
		const struct zones *z = &utm[i];

		if (code < z->first || code > z->last)
			continue;
		add_text(l, "grid_mapping_name", "transverse_mercator");
		add_number(l, "longitude_of_central_meridian", 6 * (z->zone + code - z->first) - 183);
		add_number(l, "latitude_of_projection_origin", 0);
		add_number(l, "scale_factor_at_central_meridian", 0.9996);
		add_number(l, "false_easting", 500000);
		add_number(l, "false_northing", z->northing);
		add_ellipsoid(l, z->ellipsoid);
		return true;
	}
	return false;
}

static bool add_degrees(struct list *l, int code)
{
	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
		if (code != degrees[i].code)
			continue;
		add_text(l, "grid_mapping_name", "latitude_longitude");
		add_ellipsoid(l, degrees[i].ellipsoid);
		return true;
	}
	return false;
}

/* The axis without the attribute, and with what the mapping says of its coordinates. */
static struct axis describe(struct arena *a, const struct axis *x, const char *units,
                            const char *name)
{
	struct list l = { a, ARENA_ARRAY(a, struct axis_attribute, x->nattributes + 2), 0 };
	struct axis out = *x;
	for (int i = 0; i < x->nattributes; i++)
		if (strcmp(x->attribute[i].name, ATTRIBUTE) != 0)
			l.v[l.n++] = x->attribute[i];
	if (units)
		add_text(&l, "units", units);
	if (name)
		add_text(&l, "standard_name", name);
	out.attribute = l.v;
	out.nattributes = l.n;
	return out;
}

void epsg_to_mapping(struct arena *a, struct axes *axes)
{
	const struct axis *y = axes->n > 2 ? &axes->axis[axes->n - 2] : NULL, *x = y ? y + 1 : NULL;
	const char *text = y ? text_of(y) : NULL, *colon = text ? strrchr(text, ':') : NULL;
	struct list l = { a, ARENA_ARRAY(a, struct axis_attribute, 10), 0 };
	struct axis_mapping *mapping = ARENA_ARRAY(a, struct axis_mapping, 1);
	struct axis *copy;
	int code;
	bool metres, angles;
	if (!text || !text_of(x) || strcmp(text, text_of(x)) != 0 || axes->grid_mapping)
		return;
	code = atoi(colon ? colon + 1 : text);
	add_text(&l, "epsg_code", text);
	metres = add_utm(&l, code);
	angles = add_degrees(&l, code);
	copy = arena_copy(a, axes->axis, (size_t)axes->n * sizeof *copy);
	copy[axes->n - 2] = describe(a, y, metres ? "m" : angles ? "degrees_north" : NULL,
	                             metres ? "projection_y_coordinate" : angles ? "latitude" : NULL);
	copy[axes->n - 1] = describe(a, x, metres ? "m" : angles ? "degrees_east" : NULL,
	                             metres ? "projection_x_coordinate" : angles ? "longitude" : NULL);
	*mapping = (struct axis_mapping){ "crs", { l.n, l.v } };
	axes->axis = copy;
	axes->grid_mapping = "crs";
	axes->nmappings = 1;
	axes->mapping = mapping;
}
