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

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "data-tools/source/hdf5_file.h"
#include "data-tools/source/hdf5_scale.h"
#include "data-tools/source/source.h"

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

/* Anything the library converts to a type of dlx's: half floats become f32, unsigned 32 and 64
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

/* How floats of fewer bits are stored, which the library makes f32 of. */
static enum dtype stored_as(hid_t type, enum dtype t)
{
	size_t sign, exponent, exponent_bits, mantissa, bits;
	if (H5Tget_class(type) != H5T_FLOAT || H5Tget_size(type) != 2 ||
	    H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &bits) < 0)
		return t;
	return bits == 10 ? DTYPE_F16 : bits == 7 ? DTYPE_BF16 : t;
}

/* How many numbers an attribute has: 0 if there is none, -1 if it is something else; more than
 * SOURCE_ATTRIBUTE are not read. */
static int64_t attributes(hid_t data, const char *name, long double v[SOURCE_ATTRIBUTE])
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
	if (n > 0 && n <= SOURCE_ATTRIBUTE && H5Aread(a, H5T_NATIVE_LDOUBLE, v) < 0)
		n = -1;
	H5Sclose(space);
	H5Aclose(a);
	return n;
}

/* most: as many of them count. */
static void take_missing(struct source *s, hid_t data, const char *name, int64_t most)
{
	long double v[SOURCE_ATTRIBUTE];
	const int64_t n = attributes(data, name, v);
	if (n < 0)
		s->text_missing = name;
	s->more_missing |= n > SOURCE_ATTRIBUTE;
	for (int64_t i = 0; i < n && i < most && n <= SOURCE_ATTRIBUTE; i++)
		source_add_missing(s, v[i]);
}

/* Of files that the netCDF library has written. */
static void take_sign(struct source *s, hid_t data, bool wide)
{
	char fixed[16] = "", *string = NULL;
	hid_t a, type, memory;
	if (H5Aexists(data, "_Unsigned") <= 0)
		return;
	a = H5Aopen(data, "_Unsigned", H5P_DEFAULT);
	type = H5Aget_type(a);
	memory = H5Tcopy(H5T_C_S1);
	H5Tset_cset(memory, H5Tget_cset(type));
	if (H5Tis_variable_str(type) > 0) {
		H5Tset_size(memory, H5T_VARIABLE);
		if (H5Aread(a, memory, &string) >= 0 && string)
			source_obey_unsigned(s, string, wide);
		H5free_memory(string);
	} else if (H5Tget_class(type) == H5T_STRING && H5Aget_storage_size(a) < sizeof fixed) {
		H5Tset_size(memory, sizeof fixed);
		if (H5Aread(a, memory, fixed) >= 0)
			source_obey_unsigned(s, fixed, wide);
	}
	H5Tclose(memory);
	H5Tclose(type);
	H5Aclose(a);
}

/* Changes *out where the attribute is there. */
static int take_number(const struct source *s, hid_t data, const char *name, double *out)
{
	long double v[SOURCE_ATTRIBUTE];
	const int64_t n = attributes(data, name, v);
	if (n == 1)
		*out = (double)v[0];
	return n == 1 || H5Aexists(data, name) <= 0 ? 0 : source_no_number(s, name);
}

/* wide: integers of 32 bits without a sign, as i64. */
static int read_attributes(struct source *s, hid_t data, bool wide)
{
	take_missing(s, data, "_FillValue", 1);
	take_missing(s, data, "missing_value", SOURCE_ATTRIBUTE);
	TRY(take_number(s, data, "scale_factor", &s->scale));
	TRY(take_number(s, data, "add_offset", &s->offset));
	take_sign(s, data, wide);
	return 0;
}

/* Whether the file has such an object, which is no group: one that the library cannot open too. */
static bool has_dataset(hid_t file, const char *name)
{
	const bool there = H5Lexists(file, name, H5P_DEFAULT) > 0;
	const hid_t object = there ? H5Oopen(file, name, H5P_DEFAULT) : 0;
	const bool is = object < 0 || (object > 0 && H5Iget_type(object) == H5I_DATASET);
	if (object > 0)
		H5Oclose(object);
	return is;
}

/* The variable that is wanted, or the only one, into s->name. */
static int find_name(struct source *s, hid_t file, const char *variable)
{
	struct names names = { 0 };
	int rc = 0;
	if (variable && has_dataset(file, variable)) {
		s->name = mem_strdup(variable);
		return 0;
	}
	if (H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, collect, &names) < 0)
		rc = hdf5_bad(s, "hdf5: cannot list what is in the file");
	else if (variable || names.n != 1)
		rc = source_no_variable(s->path, variable, (const char *const *)names.v, names.n);
	else
		s->name = mem_strdup(names.v[0]);
	names_release(&names);
	return rc;
}

static int find_dataset(struct source *s, struct handle *h, const char *variable)
{
	TRY(find_name(s, h->file, variable));
	h->data = H5Dopen2(h->file, s->name, H5P_DEFAULT);
	return h->data < 0 ? hdf5_bad(s, "hdf5: cannot open the dataset") : 0;
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

/* Of a virtual dataset whose parts are named by a pattern, %b is the number of a block and %% a
 * per cent sign; the files of any number are stamped. */
static uint64_t stamp_pattern(const char *path, const char *part, uint64_t seed)
{
	const char *slash = strrchr(path, '/');
	struct buf glob = BUF_INIT;
	struct io_paths found = { 0 };
	const int mark = err_count();
	if (slash && *part != '/')
		buf_printf(&glob, "%.*s", (int)(slash - path) + 1, path);
	for (const char *p = part; *p; p++) {
		if (*p == '%' && p[1] == 'b')
			buf_putc(&glob, '*');
		else if (*p != '%' || p[1] == '%')
			buf_putc(&glob, *p);
		p += *p == '%' && p[1];
	}
	if (io_expand(&found, glob.data) == 0)
		for (size_t i = 0; i < found.n; i++)
			seed = io_stamp(found.v[i], seed);
	err_truncate(mark);
	io_paths_release(&found);
	buf_release(&glob);
	return seed;
}

static uint64_t stamp_part(const char *path, const char *part, uint64_t seed)
{
	if (strchr(part, '%'))
		return stamp_pattern(path, part, seed);
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

/* --- opening --- */

/* Sets dtype and how it is read; base: the type of the values. Returns whether it is one that is
 * read; *wide as in read_attributes. */
static bool take_type(struct source *s, struct handle *h, hid_t base, bool *wide)
{
	const int t = dtype_of(base, &h->memory_type);
	const bool natural = t == DTYPE_I64 && H5Tget_sign(base) == H5T_SGN_NONE;
	if (t < 0)
		return false;
	s->dtype = (enum dtype)t;
	s->stored = stored_as(base, s->dtype);
	*wide = natural && H5Tget_size(base) <= 4;
	s->unsigned64 = natural && !*wide;
	return true;
}

static int read_type(struct source *s, struct handle *h)
{
	const hid_t type = H5Dget_type(h->data),
	/* h5py stores booleans as an enumeration, which the library converts to numbers */
	            base = H5Tget_class(type) == H5T_ENUM ? H5Tget_super(type) : H5Tcopy(type);
	bool wide = false;
	const bool read = take_type(s, h, base, &wide);
	H5Tclose(base);
	H5Tclose(type);
	if (!read)
		return source_bad(s, "neither floats nor integers");
	TRY(read_attributes(s, h->data, wide));
	if (s->unsigned32)
		h->memory_type = H5T_NATIVE_INT64;
	if (wide && s->dtype == DTYPE_I32)
		h->memory_type = H5T_NATIVE_UINT32;
	return 0;
}

/* Opens the dataset anew, with room to keep unpacked chunks. */
static int keep_chunks(const struct source *s, struct handle *h)
{
	const hid_t how = H5Dget_create_plist(h->data), access = H5Dget_access_plist(h->data);
	hsize_t extent[MAXD];
	int64_t chunk[MAXD];
	size_t slots, bytes, had = 0;
	if (H5Pget_layout(how) == H5D_CHUNKED && H5Pget_nfilters(how) > 0 &&
	    H5Pget_chunk(how, MAXD, extent) == s->shape.nd) {
		for (int i = 0; i < s->shape.nd; i++)
			chunk[i] = (int64_t)extent[i];
		hdf5_cache(s, chunk, &slots, &bytes);
		H5Pget_chunk_cache(access, NULL, &had, NULL);
		if (bytes > had && H5Pset_chunk_cache(access, slots, bytes, 0.75) >= 0) {
			const ssize_t n = H5Iget_name(h->data, NULL, 0);
			char *name = mem_calloc(1, (size_t)(n < 0 ? 0 : n) + 1);

			H5Iget_name(h->data, name, (size_t)(n < 0 ? 0 : n) + 1);
			H5Dclose(h->data);
			h->data = H5Dopen2(h->file, name, access);
			mem_free(name);
		}
	}
	H5Pclose(how);
	H5Pclose(access);
	return h->data < 0 ? hdf5_bad(s, "hdf5: cannot open the dataset") : 0;
}

/* What is stored of a virtual dataset is elsewhere. */
static int check_stored(const struct source *s, hid_t data)
{
	const hid_t how = H5Dget_create_plist(data);
	const bool is_virtual = H5Pget_layout(how) == H5D_VIRTUAL;
	H5Pclose(how);
	return is_virtual ? 0 : source_check_stored(s, H5Dget_storage_size(data));
}

/* Floats of two bytes and virtual datasets are none of netCDF's. */
static bool is_beyond_netcdf(hid_t file, const char *variable)
{
	const hid_t data = variable ? H5Dopen2(file, variable, H5P_DEFAULT) : -1;
	if (data < 0)
		return false;
	const hid_t type = H5Dget_type(data), how = H5Dget_create_plist(data);
	const bool beyond = H5Pget_layout(how) == H5D_VIRTUAL ||
	                    (H5Tget_class(type) == H5T_FLOAT && H5Tget_size(type) < 4);
	H5Pclose(how);
	H5Tclose(type);
	H5Dclose(data);
	return beyond;
}

static void coordinates(struct source *s, int i, struct arena *a, struct axis *out)
{
	const struct handle *h = s->handle;
	hdf5_coordinates(h->data, s->shape.nd, i, a, out);
}

/* The dataset of that name in the folder of this one, or in one around it; -1: there is none. */
static hid_t find_around(const struct handle *h, const char *name)
{
	char path[1024] = "";
	hid_t found = -1;
	if (H5Iget_name(h->data, path, sizeof path) <= 0)
		return -1;
	for (char *slash = strrchr(path, '/'); slash && found < 0; slash = strrchr(path, '/')) {
		*slash = '\0';
		const hid_t group = *path ? H5Gopen2(h->file, path, H5P_DEFAULT) :
		                    H5Gopen2(h->file, "/", H5P_DEFAULT);

		if (group >= 0 && H5Lexists(group, name, H5P_DEFAULT) > 0)
			found = H5Dopen2(group, name, H5P_DEFAULT);
		if (group >= 0)
			H5Gclose(group);
	}
	return found;
}

static bool attributes_of(struct source *s, const char *name, struct arena *a,
                          struct axis_attributes *out)
{
	const struct handle *h = s->handle;
	const hid_t data = name ? find_around(h, name) : h->data;
	if (data < 0)
		return false;
	*out = hdf5_attributes(data, a);
	if (name)
		H5Dclose(data);
	return true;
}

static int open_hdf5(struct source *s, const char *variable)
{
	struct handle *h;
	hid_t file;
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);   /* the library's own traces say nothing to a user */
	file = H5Fopen(s->path, H5F_ACC_RDONLY, H5P_DEFAULT);
	if (file < 0)
		return hdf5_refuse(s);
	/* a file of netCDF's means what netCDF says, whatever it is called */
	if (!s->asked && hdf5_is_netcdf(file) && !is_beyond_netcdf(file, variable)) {
		H5Fclose(file);
		s->format = &source_netcdf;
		return s->format->open(s, variable);
	}
	s->handle = h = mem_calloc(1, sizeof(*h));
	h->file = file;
	h->data = -1;
	TRY(find_dataset(s, h, variable));
	TRY(check_parts(s, h->data));
	TRY(read_shape(s, h->data));
	TRY(read_type(s, h));
	TRY(check_stored(s, h->data));
	TRY(keep_chunks(s, h));
	hdf5_name_axes(s, h->data);
	return 0;
}

/* The filter of the dataset that the library lacks, and its name in the file; -1: none. */
static int lacking_filter(hid_t data, char name[64])
{
	const hid_t how = H5Dget_create_plist(data);
	const int n = H5Pget_nfilters(how);
	int lacks = -1;
	for (int i = 0; i < n && lacks < 0; i++) {
		size_t nvalues = 0;
		unsigned flags, config;
		const H5Z_filter_t f = H5Pget_filter2(how, (unsigned)i, &flags, &nvalues, NULL, 64, name,
		                                      &config);

		lacks = f >= 0 && H5Zfilter_avail(f) <= 0 ? (int)f : -1;
	}
	H5Pclose(how);
	return lacks;
}

/* h5py and others write filters that the library has as a plugin only. */
static int unreadable(const struct source *s, hid_t data)
{
	const hid_t said = H5Eget_current_stack();   /* before other calls clear it */
	char name[64] = "";
	const int filter = lacking_filter(data, name);
	H5Eset_current_stack(said);
	return filter < 0 ? hdf5_bad(s, "hdf5: cannot read the values")
	                  : hdf5_no_filter(s, filter, name);
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
                                          read_box, coordinates, .stamp_parts = stamp_parts,
                                          .attributes = attributes_of };
