/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datasets of HDF5 files by the HDF5 library; names are paths inside the file. Attributes
 * _FillValue, missing_value, scale_factor and add_offset mean what they do in NetCDF. */
/* H5Ovisit and H5O_info_t as HDF5 1.10 has them, which
 * later versions still offer under this name. */
#define H5_USE_110_API
#include <hdf5.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "source.h"

struct handle {
	hid_t file, data, memory_type;
	hid_t own_type;            /* to be closed; -1: none */
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
	*memory = size == 1 ? H5T_NATIVE_UINT8 : size == 2 ? H5T_NATIVE_UINT16 : H5T_NATIVE_INT64;
	return size == 1 ? DTYPE_U8 : size == 2 ? DTYPE_U16 : DTYPE_I64;
}

static bool attribute(hid_t data, const char *name, double *v)
{
	double values[8];
	hid_t a, space;
	bool ok = false;

	if (H5Aexists(data, name) <= 0)
		return false;
	a = H5Aopen(data, name, H5P_DEFAULT);
	if (a < 0)
		return false;
	space = H5Aget_space(a);
	if (H5Sget_simple_extent_npoints(space) >= 1 && H5Sget_simple_extent_npoints(space) <= 8)
		ok = H5Aread(a, H5T_NATIVE_DOUBLE, values) >= 0;
	H5Sclose(space);
	H5Aclose(a);
	if (ok)
		*v = values[0];
	return ok;
}

static void read_attributes(struct source *s, hid_t data)
{
	double v;

	if (attribute(data, "_FillValue", &v))
		source_add_missing(s, v);
	if (attribute(data, "missing_value", &v))
		source_add_missing(s, v);
	if (attribute(data, "scale_factor", &v))
		s->scale = v;
	if (attribute(data, "add_offset", &v))
		s->offset = v;
}

static int find_dataset(struct source *s, struct handle *h, const char *variable)
{
	struct names names = {0};
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
	h->data = h->own_type = -1;
	TRY(find_dataset(s, h, variable));
	TRY(read_shape(s, h->data));
	type = H5Dget_type(h->data);
	/* h5py stores booleans as an enumeration */
	base = H5Tget_class(type) == H5T_ENUM ? H5Tget_super(type) : H5Tcopy(type);
	t = dtype_of(base, &h->memory_type);
	if (H5Tget_class(type) == H5T_ENUM)
		h->memory_type = type;
	h->own_type = type;
	H5Tclose(base);
	if (t < 0)
		return source_bad(s, "neither floats nor integers");
	s->dtype = (enum dtype)t;
	read_attributes(s, h->data);
	return 0;
}

static int read_hdf5(struct source *s, int64_t first, int64_t n, void *out)
{
	const struct handle *h = s->handle;
	hsize_t start[MAXD] = {0}, count[MAXD];
	hid_t file_space = H5S_ALL, memory_space = H5S_ALL;
	herr_t rc;

	if (first >= 0) {
		for (int i = 0; i < s->shape.nd; i++)
			count[i] = (hsize_t)s->shape.d[i];
		start[0] = (hsize_t)first;
		count[0] = (hsize_t)n;
		file_space = H5Dget_space(h->data);
		H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL);
		memory_space = H5Screate_simple(s->shape.nd, count, NULL);
	}
	rc = H5Dread(h->data, h->memory_type, memory_space, file_space, H5P_DEFAULT, out);
	if (first >= 0) {
		H5Sclose(file_space);
		H5Sclose(memory_space);
	}
	return rc < 0 ? source_bad(s, "hdf5: cannot read the values") : 0;
}

static void close_hdf5(struct source *s)
{
	const struct handle *h = s->handle;

	if (h->own_type >= 0)
		H5Tclose(h->own_type);
	if (h->data >= 0)
		H5Dclose(h->data);
	H5Fclose(h->file);
	mem_free(s->handle);
}

static const char *const extensions[] = {".h5", ".hdf5", ".he5", NULL};

const struct source_format source_hdf5 = {"hdf5", extensions, open_hdf5, read_hdf5, close_hdf5};
