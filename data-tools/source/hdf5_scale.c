/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/source/hdf5_scale.h"

#include <hdf5.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"

/* The first scale of axis i, to be closed, or -1. */
static hid_t find_scale(hid_t data, int nd, int i)
{
	hid_t a = -1, space = -1, type = -1, scale = -1;
	hvl_t list[H5S_MAX_RANK] = { { 0 } };
	if (H5Aexists(data, "DIMENSION_LIST") <= 0)
		return -1;
	a = H5Aopen(data, "DIMENSION_LIST", H5P_DEFAULT);
	space = a < 0 ? -1 : H5Aget_space(a);
	type = a < 0 ? -1 : H5Aget_type(a);
	if (space >= 0 && type >= 0 && H5Sget_simple_extent_npoints(space) == nd &&
	    H5Tget_class(type) == H5T_VLEN && H5Aread(a, type, list) >= 0) {
		if (list[i].len > 0 && list[i].p)
			scale = H5Rdereference2(data, H5P_DEFAULT, H5R_OBJECT, list[i].p);
		H5Dvlen_reclaim(type, space, H5P_DEFAULT, list);
	}
	if (type >= 0)
		H5Tclose(type);
	if (space >= 0)
		H5Sclose(space);
	if (a >= 0)
		H5Aclose(a);
	if (scale >= 0 && H5Iget_type(scale) != H5I_DATASET) {
		H5Oclose(scale);
		scale = -1;
	}
	return scale;
}

/* A text of one value in a; NULL if it is none. */
static const char *read_text(hid_t attribute, hid_t type, struct arena *a)
{
	const size_t n = H5Tget_size(type);
	const char *text = NULL;
	if (H5Tis_variable_str(type) > 0) {
		char *own = NULL;

		if (H5Aread(attribute, type, &own) >= 0 && own) {
			text = arena_strdup(a, own);
			H5free_memory(own);
		}
	} else if (n <= SOURCE_TEXT_MOST) {
		char *own = arena_alloc(a, n + 1);

		text = H5Aread(attribute, type, own) >= 0 ? own : NULL;
	}
	return text;
}

struct attributes {
	struct arena *a;
	struct axis *out;
	int room;
};

static bool is_own(const char *name)
{
	return *name == '_' || strcmp(name, "CLASS") == 0 || strcmp(name, "NAME") == 0 ||
	       strcmp(name, "REFERENCE_LIST") == 0 || strcmp(name, "DIMENSION_LIST") == 0 ||
	       strcmp(name, "bounds") == 0;
}

static herr_t add_attribute(hid_t scale, const char *name, const H5A_info_t *info, void *arg)
{
	struct attributes *all = arg;
	struct axis_attribute x = { 0 };
	hid_t a, type, space;
	hssize_t n;
	if (is_own(name) || all->out->nattributes == all->room || (a = H5Aopen(scale, name,
	                                                                       H5P_DEFAULT)) < 0)
		return 0;
	type = H5Aget_type(a);
	space = H5Aget_space(a);
	n = H5Sget_simple_extent_npoints(space);
	x.name = arena_strdup(all->a, name);
	if (H5Tget_class(type) == H5T_STRING && n == 1) {
		x.text = read_text(a, type, all->a);
	} else if ((H5Tget_class(type) == H5T_FLOAT || H5Tget_class(type) == H5T_INTEGER) && n >= 1 &&
	           n <= AXIS_ATTRIBUTE_MOST) {
		double *v = ARENA_ARRAY(all->a, double, n);

		x.values = H5Aread(a, H5T_NATIVE_DOUBLE, v) >= 0 ? v : NULL;
		x.n = (int)n;
	}
	H5Sclose(space);
	H5Tclose(type);
	H5Aclose(a);
	if (x.text || x.values)
		((struct axis_attribute *)(uintptr_t)all->out->attribute)[all->out->nattributes++] = x;
	return 0;
}

#define MOST_ATTRIBUTES 64

/* A dimension of netCDF's without coordinates has a scale that says so in its name. */
static bool has_values(hid_t scale)
{
	char name[128] = "";
	hid_t a, type;
	if (H5Aexists(scale, "NAME") <= 0 || (a = H5Aopen(scale, "NAME", H5P_DEFAULT)) < 0)
		return true;
	type = H5Aget_type(a);
	if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
	    H5Tget_size(type) < sizeof name)
		H5Aread(a, type, name);
	H5Tclose(type);
	H5Aclose(a);
	return strncmp(name, "This is a netCDF dimension but not", 34) != 0;
}

void hdf5_coordinates(int64_t data, int nd, int i, struct arena *a, struct axis *out)
{
	struct attributes all = { a, out, MOST_ATTRIBUTES };
	hid_t scale = find_scale(data, nd, i), space, type;
	if (scale < 0)
		return;
	space = H5Dget_space(scale);
	type = H5Dget_type(scale);
	if (H5Sget_simple_extent_npoints(space) == out->n && has_values(scale) &&
	    (H5Tget_class(type) == H5T_FLOAT || H5Tget_class(type) == H5T_INTEGER)) {
		double *v = ARENA_ARRAY(a, double, out->n);

		if (H5Dread(scale, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0)
			out->values = v;
	}
	H5Tclose(type);
	H5Sclose(space);
	out->attribute = ARENA_ARRAY(a, struct axis_attribute, MOST_ATTRIBUTES);
	if (out->values)
		H5Aiterate2(scale, H5_INDEX_NAME, H5_ITER_INC, NULL, add_attribute, &all);
	H5Dclose(scale);
}

void hdf5_name_axes(struct source *s, int64_t data)
{
	for (int i = 0; i < s->shape.nd; i++) {
		hid_t scale = find_scale(data, s->shape.nd, i);
		char path[512] = "";
		const char *slash;

		if (scale < 0)
			continue;
		if (H5Iget_name(scale, path, sizeof path) > 0) {
			slash = strrchr(path, '/');
			s->axis[i] = mem_strdup(slash ? slash + 1 : path);
		}
		H5Dclose(scale);
	}
}

struct axis_attributes hdf5_attributes(int64_t data, struct arena *a)
{
	struct axis all = { .attribute = ARENA_ARRAY(a, struct axis_attribute, MOST_ATTRIBUTES) };
	struct attributes to = { a, &all, MOST_ATTRIBUTES };
	H5Aiterate2(data, H5_INDEX_NAME, H5_ITER_INC, NULL, add_attribute, &to);
	return (struct axis_attributes){ all.nattributes, all.attribute };
}
