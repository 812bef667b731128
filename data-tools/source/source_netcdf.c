/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Variables of NetCDF files, classic or NetCDF-4, by the netCDF library. "GROUP/NAME" reaches
 * into groups. */
#include <hdf5.h>
#include <netcdf.h>
#include <netcdf_filter.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/hdf5_file.h"
#include "data-tools/source/source.h"

struct handle {
	int file, group, var;
	nc_type type;
	bool enumeration;
};

static int nc_fail(const struct source *s, int rc)
{
	return ERR(rc == NC_ENOMEM ? E_NOMEM : E_DATA, NULL, "'%s'%s%s%s: netcdf: %s", s->path,
	           s->name ? ", '" : "", s->name ? s->name : "", s->name ? "'" : "", nc_strerror(rc));
}

#define NC(call)                              \
	do {                                      \
		int nc_rc_ = (call);                  \
		if (nc_rc_ != NC_NOERR)               \
			return nc_fail(s, nc_rc_);        \
	} while (0)

/* An enumeration is read as its numbers. */
static nc_type base_of(int group, nc_type t)
{
	nc_type base = t;
	int class = 0;
	if (t > NC_MAX_ATOMIC_TYPE && !nc_inq_user_type(group, t, NULL, NULL, &base, NULL, &class) &&
	    class == NC_ENUM)
		return base;
	return t;
}

/* Types beyond ours are read as the next that holds them; the library converts. */
static int dtype_of(nc_type t)
{
	switch (t) {
	case NC_FLOAT: return DTYPE_F32;
	case NC_DOUBLE: return DTYPE_F64;
	case NC_BYTE: return DTYPE_I8;
	case NC_UBYTE: return DTYPE_U8;
	case NC_SHORT: return DTYPE_I16;
	case NC_USHORT: return DTYPE_U16;
	case NC_INT: return DTYPE_I32;
	case NC_UINT:
	case NC_INT64:
	case NC_UINT64: return DTYPE_I64;
	default: return -1;
	}
}

/* Whether variable v is a coordinate: named as its only axis. */
static bool is_coordinate(int group, int v)
{
	char name[NC_MAX_NAME + 1] = "", dim[NC_MAX_NAME + 1] = "";
	int nd, id[NC_MAX_VAR_DIMS];
	if (nc_inq_varname(group, v, name) || nc_inq_varndims(group, v, &nd) || nd != 1)
		return false;
	return !nc_inq_vardimid(group, v, id) && !nc_inq_dimname(group, id[0], dim) &&
	       !strcmp(name, dim);
}

/* The variables that are data, for the choice of the only one and for messages. Returns how
 * many; *only: one of them. */
static int list_variables(const struct source *s, int group, const char *wanted, int *only, int *rc)
{
	char (*text)[NC_MAX_NAME + 1];
	const char **names;
	int total = 0, n = 0;
	if (nc_inq_nvars(group, &total))
		total = 0;
	text = mem_calloc((size_t)total + 1, sizeof(*text));
	names = mem_calloc((size_t)total + 1, sizeof(*names));
	for (int v = 0; v < total; v++) {
		if (is_coordinate(group, v) || nc_inq_varname(group, v, text[n]))
			continue;
		names[n] = text[n];
		*only = v;
		n++;
	}
	*rc = wanted || n != 1 ? source_no_variable(s->path, wanted, names, n) : 0;
	mem_free(names);
	mem_free(text);
	return n;
}

static int find_variable(struct source *s, struct handle *h, const char *variable)
{
	const char *slash = variable ? strrchr(variable, '/') : NULL;
	char name[NC_MAX_NAME + 1];
	int rc = 0;
	h->group = h->file;
	if (slash && slash == variable) {
		variable++;
	} else if (slash) {
		char *group = mem_strdup(variable);

		group[slash - variable] = '\0';
		if (nc_inq_grp_full_ncid(h->file, group, &h->group))
			h->group = h->file;
		else
			variable = slash + 1;
		mem_free(group);
	}
	if (!variable || nc_inq_varid(h->group, variable, &h->var))
		list_variables(s, h->group, variable, &h->var, &rc);
	TRY(rc);
	NC(nc_inq_varname(h->group, h->var, name));
	s->name = mem_strdup(name);
	return 0;
}

/* By the dimension's name and the attribute `axis` of the coordinates that have it. */
static void name_axis(struct source *s, const struct handle *h, int dimension, int i)
{
	char name[NC_MAX_NAME + 1] = "", text[8] = "";
	size_t n;
	int v;
	if (nc_inq_dimname(h->group, dimension, name))
		return;
	s->axis[i] = mem_strdup(name);
	if (nc_inq_varid(h->group, name, &v) || nc_inq_attlen(h->group, v, "axis", &n) || n < 1 ||
	    n >= sizeof text || nc_get_att_text(h->group, v, "axis", text))
		return;
	s->kind[i] = strchr("XYZT", text[0]) ? text[0] : 0;
}

static int read_shape(struct source *s, const struct handle *h)
{
	int id[NC_MAX_VAR_DIMS];
	NC(nc_inq_varndims(h->group, h->var, &s->shape.nd));
	if (s->shape.nd > MAXD)
		return source_bad(s, "too many axes");
	NC(nc_inq_vardimid(h->group, h->var, id));
	for (int i = 0; i < s->shape.nd; i++) {
		size_t n;

		NC(nc_inq_dimlen(h->group, id[i], &n));
		s->shape.d[i] = (int64_t)n;
		name_axis(s, h, id[i], i);
	}
	return 0;
}

/* Values of an enumeration, which the library does not convert. */
static int read_enumerated(const struct handle *h, const char *name, nc_type base, size_t n,
                           long double *v)
{
	int64_t raw[SOURCE_ATTRIBUTE];
	const int t = base == NC_UINT || base == NC_UINT64 ? -1 : dtype_of(base);
	const int rc = t < 0 ? NC_EBADTYPE : nc_get_att(h->group, h->var, name, raw);
	for (size_t i = 0; i < n && !rc; i++)
		v[i] = dtype_get((enum dtype)t, raw, (int64_t)i);
	return rc;
}

/* Numbers of n <= SOURCE_ATTRIBUTE values, exactly. */
static int read_numbers(const struct handle *h, const char *name, nc_type t, size_t n,
                        long double *v)
{
	union {
		double number[SOURCE_ATTRIBUTE];
		long long whole[SOURCE_ATTRIBUTE];
		unsigned long long natural[SOURCE_ATTRIBUTE];
	} as;
	const nc_type base = base_of(h->group, t);
	if (base != t)
		return read_enumerated(h, name, base, n, v);
	const int rc = t == NC_INT64 ? nc_get_att_longlong(h->group, h->var, name, as.whole) :
	               t == NC_UINT64 ? nc_get_att_ulonglong(h->group, h->var, name, as.natural) :
	               nc_get_att_double(h->group, h->var, name, as.number);
	for (size_t i = 0; i < n && !rc; i++)
		v[i] = t == NC_INT64 ? (long double)as.whole[i] :
		       t == NC_UINT64 ? (long double)as.natural[i] : as.number[i];
	return rc;
}

/* How many numbers an attribute has: 0 if there is none, -1 if it is something else; more than
 * SOURCE_ATTRIBUTE are not read. */
static int64_t attributes(const struct handle *h, const char *name,
                          long double v[SOURCE_ATTRIBUTE])
{
	nc_type t;
	size_t n;
	if (nc_inq_att(h->group, h->var, name, &t, &n) || n == 0)
		return 0;
	if (t == NC_CHAR || t == NC_STRING || (n <= SOURCE_ATTRIBUTE && read_numbers(h, name, t, n, v)))
		return -1;
	return (int64_t)n;
}

/* Returns whether there is one. */
static bool take_missing(struct source *s, const struct handle *h, const char *name)
{
	long double v[SOURCE_ATTRIBUTE];
	const int64_t n = attributes(h, name, v);
	if (n < 0)
		s->text_missing = name;
	s->more_missing |= n > SOURCE_ATTRIBUTE;
	for (int64_t i = 0; i < n && n <= SOURCE_ATTRIBUTE; i++)
		source_add_missing(s, v[i]);
	return n != 0;
}

/* NetCDF's own attribute for integers of which a format has no types: the classic one none without
 * a sign, OPeNDAP no bytes with one. */
static void take_sign(struct source *s, const struct handle *h)
{
	nc_type t;
	size_t n;
	char text[8] = "", *string = NULL;
	if (nc_inq_att(h->group, h->var, "_Unsigned", &t, &n))
		return;
	if (t == NC_CHAR && n < sizeof text && !nc_get_att_text(h->group, h->var, "_Unsigned", text))
		source_obey_unsigned(s, text, h->type == NC_UINT);
	if (t != NC_STRING || n != 1 || nc_get_att_string(h->group, h->var, "_Unsigned", &string))
		return;
	if (string)
		source_obey_unsigned(s, string, h->type == NC_UINT);
	nc_free_string(1, &string);
}

/* What the library has put where a program has written nothing. Bytes have no such value: all of
 * theirs are data, says netCDF. */
static void take_default_fill(struct source *s, const struct handle *h)
{
	union {
		float f;
		double d;
		short s;
		unsigned short us;
		int i;
		unsigned u;
		long long l;
		unsigned long long ul;
	} v;
	int none = 0;
	if (h->type == NC_BYTE || h->type == NC_UBYTE || h->enumeration ||
	    nc_inq_var_fill(h->group, h->var, &none, &v) || none)
		return;
	switch (h->type) {
	case NC_FLOAT: source_add_missing(s, v.f); return;
	case NC_DOUBLE: source_add_missing(s, v.d); return;
	case NC_SHORT: source_add_missing(s, v.s); return;
	case NC_USHORT: source_add_missing(s, v.us); return;
	case NC_INT: source_add_missing(s, v.i); return;
	case NC_UINT: source_add_missing(s, v.u); return;
	case NC_INT64: source_add_missing(s, (long double)v.l); return;
	case NC_UINT64: source_add_missing(s, (long double)v.ul); return;
	default: return;
	}
}

/* Changes *out where the attribute is there. */
static int take_number(const struct source *s, const struct handle *h, const char *name,
                       double *out)
{
	long double v[SOURCE_ATTRIBUTE];
	int id;
	const int64_t n = attributes(h, name, v);
	if (n == 1)
		*out = (double)v[0];
	return n == 1 || nc_inq_attid(h->group, h->var, name, &id) ? 0 : source_no_number(s, name);
}

static int read_attributes(struct source *s, const struct handle *h)
{
	if (!take_missing(s, h, "_FillValue"))
		take_default_fill(s, h);
	take_missing(s, h, "missing_value");
	TRY(take_number(s, h, "scale_factor", &s->scale));
	TRY(take_number(s, h, "add_offset", &s->offset));
	take_sign(s, h);
	return 0;
}

/* The traces of the library below say nothing to a user; each thread has a setting of its own,
 * and the netCDF library sets that of one alone. */
static void hush(void)
{
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* The library's own cache may be smaller than a chunk, which is unpacked for each piece then. */
static void keep_chunks(const struct source *s, const struct handle *h)
{
	size_t chunk[NC_MAX_VAR_DIMS], bytes = 0, slots = 0, had = 0, nfilters = 0;
	int64_t extent[MAXD];
	int storage = NC_CONTIGUOUS;
	float how = 0;
	if (nc_inq_var_filter_ids(h->group, h->var, &nfilters, NULL) || nfilters == 0 ||
	    nc_inq_var_chunking(h->group, h->var, &storage, chunk) || storage != NC_CHUNKED)
		return;
	for (int i = 0; i < s->shape.nd; i++)
		extent[i] = (int64_t)chunk[i];
	hdf5_cache(s, extent, &slots, &bytes);
	if (!nc_get_var_chunk_cache(h->group, h->var, &had, NULL, &how) && bytes > had)
		nc_set_var_chunk_cache(h->group, h->var, bytes, slots, how);
}

/* The bytes that the file has, without its holes: some file systems do not count blocks. */
static uint64_t bytes_stored(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return 0;
	const uint64_t size = (uint64_t)st.st_size, blocks = (uint64_t)st.st_blocks * 512;
	return blocks > 0 && blocks < size ? blocks : size;
}

static int open_netcdf(struct source *s, const char *variable)
{
	struct handle *h = mem_calloc(1, sizeof(*h));
	nc_type type;
	int rc, t;
	hush();
	rc = nc_open(s->path, NC_NOWRITE, &h->file);
	if (rc != NC_NOERR) {
		mem_free(h);
		return rc == NC_EHDFERR ? hdf5_refuse(s) : nc_fail(s, rc);
	}
	s->handle = h;
	TRY(find_variable(s, h, variable));
	TRY(read_shape(s, h));
	NC(nc_inq_vartype(h->group, h->var, &type));
	h->type = base_of(h->group, type);
	h->enumeration = h->type != type;
	t = dtype_of(h->type);
	if (t < 0)
		return source_bad(s, "neither floats nor integers");
	s->dtype = (enum dtype)t;
	s->unsigned64 = h->type == NC_UINT64;
	TRY(read_attributes(s, h));
	keep_chunks(s, h);
	return source_check_stored(s, bytes_stored(s->path));
}

static int unreadable(const struct source *s, const struct handle *h, int rc)
{
	unsigned id[32];
	size_t n = 0;
	if (nc_inq_var_filter_ids(h->group, h->var, &n, NULL) || n > sizeof id / sizeof *id ||
	    nc_inq_var_filter_ids(h->group, h->var, &n, id))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (H5Zfilter_avail((H5Z_filter_t)id[i]) <= 0)
			return hdf5_no_filter(s, (int)id[i], NULL);
	return nc_fail(s, rc);
}

static int read_box(struct source *s, const int64_t *start, const int64_t *count, void *out)
{
	const struct handle *h = s->handle;
	size_t from[MAXD] = { 0 }, n[MAXD] = { 0 };
	for (int i = 0; i < s->shape.nd; i++) {
		from[i] = (size_t)start[i];
		n[i] = (size_t)count[i];
	}
	hush();
	const bool wider = s->dtype == DTYPE_I64 && (h->type == NC_INT || h->type == NC_UINT);
	const int rc = wider ? nc_get_vara_longlong(h->group, h->var, from, n, out)
	                     : nc_get_vara(h->group, h->var, from, n, out);
	return rc == NC_NOERR ? 0 : unreadable(s, h, rc);
}

static int read_netcdf(struct source *s, int64_t first, int64_t n, void *out)
{
	int64_t start[MAXD] = { first < 0 ? 0 : first }, count[MAXD];
	for (int i = 0; i < s->shape.nd; i++)
		count[i] = i || first < 0 ? s->shape.d[i] : n;
	return read_box(s, start, count, out);
}

/* --- coordinates --- */

/* The variable of that name in the group, or in one around it. */
static bool find_in_groups(const struct handle *h, const char *name, int *group, int *v)
{
	*group = h->group;
	while (nc_inq_varid(*group, name, v))
		if (nc_inq_grp_parent(*group, group))
			return false;
	return true;
}

static void read_attribute(int group, int v, const char *name, struct arena *a, struct axis *out)
{
	struct axis_attribute *all = (struct axis_attribute *)(uintptr_t)out->attribute, *x;
	char *string = NULL;
	nc_type type;
	size_t n;

	if (*name == '_' || strcmp(name, "bounds") == 0 || nc_inq_att(group, v, name, &type, &n) ||
	    n < 1 || n > SOURCE_TEXT_MOST)
		return;
	x = &all[out->nattributes];
	x->name = arena_strdup(a, name);
	if (type == NC_CHAR) {
		char *text = arena_alloc(a, n + 1);

		x->text = nc_get_att_text(group, v, name, text) ? NULL : text;
	} else if (type == NC_STRING && n == 1) {
		if (!nc_get_att_string(group, v, name, &string) && string)
			x->text = arena_strdup(a, string);
		if (string)
			nc_free_string(1, &string);
	} else if (type != NC_STRING && n <= AXIS_ATTRIBUTE_MOST) {
		double *values = ARENA_ARRAY(a, double, n);

		x->values = nc_get_att_double(group, v, name, values) ? NULL : values;
		x->n = (int)n;
	}
	out->nattributes += x->text || x->values;
}

static struct axis_attributes read_all(int group, int v, struct arena *a)
{
	struct axis out = { 0 };
	char name[NC_MAX_NAME + 1];
	int n = 0;
	if (nc_inq_varnatts(group, v, &n) || n < 1)
		return (struct axis_attributes){ 0 };
	out.attribute = ARENA_ARRAY(a, struct axis_attribute, n);
	for (int k = 0; k < n; k++)
		if (!nc_inq_attname(group, v, k, name))
			read_attribute(group, v, name, a, &out);
	return (struct axis_attributes){ out.nattributes, out.attribute };
}

static bool attributes_of(struct source *s, const char *name, struct arena *a,
                          struct axis_attributes *out)
{
	const struct handle *h = s->handle;
	int group = h->group, v = h->var;
	if (name && !find_in_groups(h, name, &group, &v))
		return false;
	*out = read_all(group, v, a);
	return true;
}

static void coordinates(struct source *s, int i, struct arena *a, struct axis *out)
{
	const struct handle *h = s->handle;
	struct axis_attributes attributes;
	int group, v, nd, dimension[NC_MAX_VAR_DIMS];
	size_t length;
	nc_type type;

	if (!find_in_groups(h, out->name, &group, &v) || nc_inq_vartype(group, v, &type) ||
	    dtype_of(type) < 0 || nc_inq_varndims(group, v, &nd) || nd != 1 ||
	    nc_inq_vardimid(group, v, dimension) || nc_inq_dimlen(group, dimension[0], &length) ||
	    (int64_t)length != out->n)
		return;
	double *values = ARENA_ARRAY(a, double, out->n);
	if (nc_get_var_double(group, v, values))
		return;
	out->values = values;
	attributes = read_all(group, v, a);
	out->nattributes = attributes.n;
	out->attribute = attributes.v;
}

static void close_netcdf(struct source *s)
{
	const struct handle *h = s->handle;
	nc_close(h->file);
	mem_free(s->handle);
}

static const char *const extensions[] = { ".nc", ".nc4", ".cdf", NULL };

const struct source_format source_netcdf = { "netcdf", extensions, open_netcdf, read_netcdf,
                                            close_netcdf, read_box, coordinates,
                                            .attributes = attributes_of };
