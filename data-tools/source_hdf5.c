/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datasets of HDF5 files by the HDF5 library; names are paths inside the file. Attributes
 * _FillValue, missing_value, scale_factor and add_offset mean what they do in NetCDF. */
/* H5Ovisit and H5O_info_t as HDF5 1.10 has them, which
 * later versions still offer under this name. */
#define H5_USE_110_API
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "source.h"

struct handle {
	hid_t file, data, memory_type;
};

/* The names of all datasets, for messages and for the choice of the only one. */
struct names {
	char **v;
	int n;
};

static herr_t collect(hid_t root, const char *name, const H5O_info_t *info, void *arg)
{
	struct names *names = arg;
	if (info->type != H5O_TYPE_DATASET)
		return 0;
	names->v = mem_realloc(names->v, ((size_t)names->n + 1) * sizeof(*names->v));
	names->v[names->n++] = mem_strdup(name);
	return 0;
}

static void names_release(struct names *names)
{
	for (int i = 0; i < names->n; i++)
		mem_free(names->v[i]);
	mem_free(names->v);
}

/* Anything the library converts to a type of ours: half floats become f32, unsigned 32 and 64
 * bits i64. */
static int dtype_of(hid_t type, hid_t *memory)
{
	const size_t size = H5Tget_size(type);
	const H5T_class_t class = H5Tget_class(type);
	if (class == H5T_FLOAT) {
		*memory = size <= 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
		return size <= 4 ? DTYPE_F32 : DTYPE_F64;
	}
	if (class != H5T_INTEGER || size > 8)
		return -1;
	if (H5Tget_sign(type) == H5T_SGN_2) {
		*memory = size == 1 ? H5T_NATIVE_INT8 : size == 2 ? H5T_NATIVE_INT16
		          : size <= 4 ? H5T_NATIVE_INT32 : H5T_NATIVE_INT64;
		return size == 1 ? DTYPE_I8 : size == 2 ? DTYPE_I16 : size <= 4 ? DTYPE_I32 : DTYPE_I64;
	}
	*memory = size == 1 ? H5T_NATIVE_UINT8 : size == 2 ? H5T_NATIVE_UINT16 : H5T_NATIVE_UINT64;
	return size == 1 ? DTYPE_U8 : size == 2 ? DTYPE_U16 : DTYPE_I64;
}

/* How many numbers an attribute has: 0 if there is none, -1 if it is something else; more than
 * SOURCE_ATTRIBUTE are not read. */
static int64_t attributes(hid_t data, const char *name, double v[SOURCE_ATTRIBUTE])
{
	hid_t a, space;
	hssize_t n;
	if (H5Aexists(data, name) <= 0)
		return 0;
	a = H5Aopen(data, name, H5P_DEFAULT);
	if (a < 0)
		return 0;
	space = H5Aget_space(a);
	n = H5Sget_simple_extent_npoints(space);
	if (n > 0 && n <= SOURCE_ATTRIBUTE && H5Aread(a, H5T_NATIVE_DOUBLE, v) < 0)
		n = -1;
	H5Sclose(space);
	H5Aclose(a);
	return n;
}

/* most: as many of them count. */
static void take_missing(struct source *s, hid_t data, const char *name, int64_t most)
{
	double v[SOURCE_ATTRIBUTE];
	const int64_t n = attributes(data, name, v);
	if (n < 0)
		s->text_missing = name;
	s->more_missing |= n > SOURCE_ATTRIBUTE;
	for (int64_t i = 0; i < n && i < most && n <= SOURCE_ATTRIBUTE; i++)
		source_add_missing(s, v[i]);
}

/* Of files that the netCDF library has written. */
static bool says_unsigned(hid_t data)
{
	char fixed[16] = "", *string = NULL;
	hid_t a, type, memory;
	bool yes = false;
	if (H5Aexists(data, "_Unsigned") <= 0)
		return false;
	a = H5Aopen(data, "_Unsigned", H5P_DEFAULT);
	type = H5Aget_type(a);
	memory = H5Tcopy(H5T_C_S1);
	H5Tset_cset(memory, H5Tget_cset(type));
	if (H5Tis_variable_str(type) > 0) {
		H5Tset_size(memory, H5T_VARIABLE);
		yes = H5Aread(a, memory, &string) >= 0 && string && strcasecmp(string, "true") == 0;
		H5free_memory(string);
	} else if (H5Tget_class(type) == H5T_STRING && H5Aget_storage_size(a) < sizeof fixed) {
		H5Tset_size(memory, sizeof fixed);
		yes = H5Aread(a, memory, fixed) >= 0 && strcasecmp(fixed, "true") == 0;
	}
	H5Tclose(memory);
	H5Tclose(type);
	H5Aclose(a);
	return yes;
}

/* Changes *out where the attribute is there. */
static int take_number(const struct source *s, hid_t data, const char *name, double *out)
{
	double v[SOURCE_ATTRIBUTE];
	const int64_t n = attributes(data, name, v);
	if (n == 1)
		*out = v[0];
	return n == 1 || H5Aexists(data, name) <= 0 ? 0 : source_no_number(s, name);
}

static int read_attributes(struct source *s, hid_t data)
{
	take_missing(s, data, "_FillValue", 1);
	take_missing(s, data, "missing_value", SOURCE_ATTRIBUTE);
	TRY(take_number(s, data, "scale_factor", &s->scale));
	TRY(take_number(s, data, "add_offset", &s->offset));
	if (says_unsigned(data))
		source_take_unsigned(s);
	return 0;
}

static int find_dataset(struct source *s, struct handle *h, const char *variable)
{
	struct names names = { 0 };
	int rc = 0;
	if (!variable || H5Lexists(h->file, variable, H5P_DEFAULT) <= 0 ||
	    (h->data = H5Dopen2(h->file, variable, H5P_DEFAULT)) < 0) {
		H5Ovisit(h->file, H5_INDEX_NAME, H5_ITER_INC, collect, &names);
		if (variable || names.n != 1)
			rc = source_no_variable(s->path, variable, (const char *const *)names.v, names.n);
		else
			h->data = H5Dopen2(h->file, names.v[0], H5P_DEFAULT);
		variable = names.n == 1 ? names.v[0] : variable;
	}
	if (rc == 0)
		s->name = mem_strdup(variable);
	if (rc == 0 && h->data < 0)
		rc = source_bad(s, "hdf5: cannot open the dataset");
	names_release(&names);
	return rc;
}

/* --- datasets whose values are in other files --- */

/* part in the folder of the file at `path`; mem_free. NULL: it is not there. */
static char *find_in(const char *path, const char *part)
{
	const char *end = strrchr(path, '/');
	char *folder = mem_strdup(end ? path : "."), *name;
	if (end)
		folder[end == path ? 1 : end - path] = '\0';
	name = io_join(folder, part);
	mem_free(folder);
	if (access(name, F_OK) == 0)
		return name;
	mem_free(name);
	return NULL;
}

static char *find_near(const char *path, const char *part)
{
	const char *slash = strrchr(part, '/');
	char *found = find_in(path, part);
	return found || !slash ? found : find_in(path, slash + 1);
}

/* Where the library finds this file: as it is named, or in the folder of the file at `path`,
 * which may be a link, with its folders or without. mem_free. NULL: nowhere. */
static char *find_part(const char *path, const char *part)
{
	char *real, *found = access(part, F_OK) == 0 ? mem_strdup(part) : find_near(path, part);
	if (found)
		return found;
	real = realpath(path, NULL);
	found = real ? find_near(real, part) : NULL;
	free(real);
	return found;
}

/* Patterns of names are not looked at. */
static bool is_there(const char *path, const char *part)
{
	if (strcmp(part, ".") == 0 || strchr(part, '%') || getenv("HDF5_VDS_PREFIX"))
		return true;
	char *found = find_part(path, part);
	mem_free(found);
	return found;
}

/* The library reads the fill value where the file with a part of a virtual dataset is missing. */
static int check_parts(const struct source *s, hid_t data)
{
	const hid_t how = H5Dget_create_plist(data);
	size_t n = 0;
	int rc = 0;
	if (H5Pget_layout(how) != H5D_VIRTUAL || H5Pget_virtual_count(how, &n) < 0)
		n = 0;
	for (size_t i = 0; i < n && rc == 0; i++) {
		char part[4096] = ".";

		if (H5Pget_virtual_filename(how, i, part, sizeof part) > 0 && !is_there(s->path, part))
			rc = ERR(E_NOINPUT, NULL, "'%s', '%s': the file '%s', which has a part of its values, "
			         "is missing", s->path, s->name, part);
	}
	H5Pclose(how);
	return rc;
}

static uint64_t stamp_part(const char *path, const char *part, uint64_t seed)
{
	char *found = strcmp(part, ".") == 0 ? NULL : find_part(path, part);
	if (found)
		seed = io_stamp(found, seed);
	mem_free(found);
	return seed;
}

static uint64_t stamp_parts(const struct source *s, uint64_t seed)
{
	const struct handle *h = s->handle;
	const hid_t how = H5Dget_create_plist(h->data);
	const int external = H5Pget_external_count(how);
	char part[4096];
	size_t n = 0;
	if (H5Pget_layout(how) != H5D_VIRTUAL || H5Pget_virtual_count(how, &n) < 0)
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (H5Pget_virtual_filename(how, i, part, sizeof part) > 0)
			seed = stamp_part(s->path, part, seed);
	for (int i = 0; i < external; i++)
		if (H5Pget_external(how, (unsigned)i, sizeof part, part, NULL, NULL) >= 0)
			seed = stamp_part(s->path, part, seed);
	H5Pclose(how);
	return seed;
}

static int read_shape(struct source *s, hid_t data)
{
	hsize_t d[H5S_MAX_RANK];
	hid_t space = H5Dget_space(data);
	const int nd = H5Sget_simple_extent_ndims(space);
	if (nd >= 0)
		H5Sget_simple_extent_dims(space, d, NULL);
	H5Sclose(space);
	if (nd < 0 || nd > MAXD)
		return source_bad(s, "too many axes");
	s->shape.nd = nd;
	for (int i = 0; i < nd; i++)
		s->shape.d[i] = d[i] > INT64_MAX ? -1 : (int64_t)d[i];
	return 0;
}

/* --- dimension scales --- */

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
	} else if (n < 4096) {
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
	char name[64] = "";
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

static void coordinates(struct source *s, int i, struct arena *a, struct axis *out)
{
	const struct handle *h = s->handle;
	struct attributes all = { a, out, MOST_ATTRIBUTES };
	hid_t scale = find_scale(h->data, s->shape.nd, i), space, type;
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

static const char *text(struct source *s, const char *name, struct arena *a)
{
	const struct handle *h = s->handle;
	const char *out = NULL;
	hid_t attribute = H5Aexists(h->data, name) > 0 ? H5Aopen(h->data, name, H5P_DEFAULT) : -1, type;
	if (attribute < 0)
		return NULL;
	type = H5Aget_type(attribute);
	if (H5Tget_class(type) == H5T_STRING)
		out = read_text(attribute, type, a);
	H5Tclose(type);
	H5Aclose(attribute);
	return out;
}

/* An axis is called as its scale is. */
static void name_axes(struct source *s, hid_t data)
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

static int open_hdf5(struct source *s, const char *variable)
{
	struct handle *h;
	hid_t file, type, base;
	int t;
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);   /* the library's own traces say nothing to a user */
	file = H5Fopen(s->path, H5F_ACC_RDONLY, H5P_DEFAULT);
	if (file < 0)
		return source_bad(s, "hdf5: damaged, or not an HDF5 file");
	s->handle = h = mem_calloc(1, sizeof(*h));
	h->file = file;
	h->data = -1;
	TRY(find_dataset(s, h, variable));
	TRY(check_parts(s, h->data));
	TRY(read_shape(s, h->data));
	type = H5Dget_type(h->data);
	/* h5py stores booleans as an enumeration, which the library converts to numbers */
	base = H5Tget_class(type) == H5T_ENUM ? H5Tget_super(type) : H5Tcopy(type);
	t = dtype_of(base, &h->memory_type);
	s->unsigned64 = t == DTYPE_I64 && H5Tget_sign(base) == H5T_SGN_NONE;
	H5Tclose(base);
	H5Tclose(type);
	if (t < 0)
		return source_bad(s, "neither floats nor integers");
	s->dtype = (enum dtype)t;
	TRY(read_attributes(s, h->data));
	if (s->unsigned32)
		h->memory_type = H5T_NATIVE_INT64;
	name_axes(s, h->data);
	return 0;
}

/* h5py and others write filters that the library has as a plugin only. */
static int unreadable(struct source *s, hid_t data)
{
	const hid_t how = H5Dget_create_plist(data);
	const int n = H5Pget_nfilters(how);
	char text[256] = "hdf5: cannot read the values", name[64];
	for (int i = 0; i < n; i++) {
		size_t nvalues = 0;
		unsigned flags, config;
		const H5Z_filter_t f = H5Pget_filter2(how, (unsigned)i, &flags, &nvalues, NULL,
		                                      sizeof name, name, &config);

		if (f >= 0 && H5Zfilter_avail(f) <= 0)
			snprintf(text, sizeof text, "hdf5: cannot read the values: the library has no filter "
			         "%d ('%s'); write them with gzip, or set HDF5_PLUGIN_PATH", (int)f, name);
	}
	H5Pclose(how);
	return source_bad(s, text);
}

static int read_selected(struct source *s, hid_t memory_space, hid_t file_space, void *out)
{
	const struct handle *h = s->handle;
	/* each thread has a setting of its own */
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	if (H5Dread(h->data, h->memory_type, memory_space, file_space, H5P_DEFAULT, out) < 0)
		return unreadable(s, h->data);
	return 0;
}

static int read_box(struct source *s, const int64_t *start, const int64_t *count, void *out)
{
	const struct handle *h = s->handle;
	hsize_t from[MAXD], n[MAXD];
	for (int i = 0; i < s->shape.nd; i++) {
		from[i] = (hsize_t)start[i];
		n[i] = (hsize_t)count[i];
	}
	const hid_t file_space = H5Dget_space(h->data),
	            memory_space = H5Screate_simple(s->shape.nd, n, NULL);
	H5Sselect_hyperslab(file_space, H5S_SELECT_SET, from, NULL, n, NULL);
	const int rc = read_selected(s, memory_space, file_space, out);
	H5Sclose(file_space);
	H5Sclose(memory_space);
	return rc;
}

static int read_hdf5(struct source *s, int64_t first, int64_t n, void *out)
{
	int64_t start[MAXD] = { first }, count[MAXD];
	if (first < 0)
		return read_selected(s, H5S_ALL, H5S_ALL, out);
	for (int i = 0; i < s->shape.nd; i++)
		count[i] = i ? s->shape.d[i] : n;
	return read_box(s, start, count, out);
}

static void close_hdf5(struct source *s)
{
	const struct handle *h = s->handle;
	if (h->data >= 0)
		H5Dclose(h->data);
	H5Fclose(h->file);
	mem_free(s->handle);
}

static const char *const extensions[] = { ".h5", ".hdf5", ".he5", NULL };

const struct source_format source_hdf5 = { "hdf5", extensions, open_hdf5, read_hdf5, close_hdf5,
                                          read_box, coordinates, text, .stamp_parts = stamp_parts };
