/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thin layer over libnetcdf that keeps dlx's conventions: errors name the path, and a file is
 * written completely or not at all. The library is loaded here at run time, because loading it and
 * its dependences takes milliseconds. */
#include "report/netcdf_file.h"

#include <netcdf.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/library.h"
#include "base/mem.h"
#include "config.h"

#define FUNCTIONS(X) \
	X(nc_create) X(nc_close) X(nc_def_dim) X(nc_def_var) X(nc_enddef) X(nc_inq_dimid) \
	X(nc_put_att_double) X(nc_put_att_int) X(nc_put_att_text) X(nc_put_var) X(nc_put_var_double) \
	X(nc_put_var_string) X(nc_put_vara_float) X(nc_put_vara_int) X(nc_strerror)

#ifdef DLX_NETCDF_LIBRARY
#define OPENED DLX_NETCDF_LIBRARY
LIBRARY_LATE(FUNCTIONS, DLX_NETCDF_LIBRARY, "netCDF")
#else
#define OPENED NULL
static const struct {
#define X(name) __typeof__(name) *name;
	FUNCTIONS(X)
} lib = {
#undef X
#define X(name) .name = name,
	FUNCTIONS(X)
#undef X
};

static int load(void)
{
	return 0;
}
#endif

struct netcdf_file {
	char *path;
	struct io_file *file;           /* the library writes to its temporary name */
	int nc, var;
	struct shape shape;             /* of one sample */
	int coordinate[MAXD + 1], dimension[MAXD + 1];   /* variables, -1: none; dimensions */
	int *field;                     /* variables of the fields of coordinates, -1: none */
	enum dtype dtype;
	int lead;                       /* axes in front of the places: that of channels */
	bool open;
};

static int fail(const struct netcdf_file *f, int code, int status)
{
	return ERR(code, NULL, "cannot write '%s': %s", f->path, lib.nc_strerror(status));
}

/* --- dimensions --- */

/* The data's axis for dimension i of the array, or NULL. */
static const struct axis *axis_of(const struct netcdf_array *a, int i)
{
	const int k = i - (i > 0 && a->has_channels);
	if (!a->axes || (i == 1 && a->has_channels) || k >= a->axes->n)
		return NULL;
	return a->axes->axis[k].name ? &a->axes->axis[k] : NULL;
}

static const char *usual_name(const struct netcdf_array *a, int i, char name[16])
{
	static const char *const spatial[] = { "width", "height", "depth" };
	const int nd = a->shape->nd;
	if (i == 0)
		snprintf(name, 16, "sample");
	else if (i == 1 && a->has_channels)
		snprintf(name, 16, "channel");
	else if (nd - i < 3)
		snprintf(name, 16, "%s", spatial[nd - i]);
	else
		snprintf(name, 16, "axis%d", i - 1);
	return name;
}

/* Whether no other dimension, nor the array, has this name. */
static bool is_free(const struct netcdf_array *a, int i, const char *name)
{
	char usual[16];
	if (strcmp(name, a->name) == 0)
		return false;
	for (int k = 0; k <= a->shape->nd; k++) {
		const struct axis *x = axis_of(a, k);
		if (k != i && (strcmp(name, usual_name(a, k, usual)) == 0 ||
		               (x && strcmp(name, x->name) == 0)))
			return false;
	}
	return true;
}

/* An attribute that cannot be written is left out. */
static void put_attributes(const struct netcdf_file *f, int var, struct axis_attributes all)
{
	for (int k = 0; k < all.n; k++) {
		const struct axis_attribute *t = &all.v[k];

		if (t->text)
			lib.nc_put_att_text(f->nc, var, t->name, strlen(t->text), t->text);
		else
			lib.nc_put_att_double(f->nc, var, t->name, NC_DOUBLE, (size_t)t->n, t->values);
	}
}

/* A dimension has the name of the data's axis, or its usual one if netCDF refuses that name. */
static int define_dimension(struct netcdf_file *f, const struct netcdf_array *a, int i)
{
	const struct axis *x = axis_of(a, i);
	const size_t n = (size_t)(i ? f->shape.d[i - 1] : a->samples);
	char usual[16];
	int *coordinate = &f->coordinate[i], status = NC_EBADNAME;
	*coordinate = -1;
	if (x && is_free(a, i, x->name))
		status = lib.nc_def_dim(f->nc, x->name, n, &f->dimension[i]);
	if (status == NC_EBADNAME || status == NC_ENAMEINUSE || status == NC_EMAXNAME)
		return lib.nc_def_dim(f->nc, usual_name(a, i, usual), n, &f->dimension[i]);
	if (status != NC_NOERR || !x->values)
		return status;
	status = lib.nc_def_var(f->nc, x->name, NC_DOUBLE, 1, &f->dimension[i], coordinate);
	if (status == NC_NOERR)
		put_attributes(f, *coordinate, (struct axis_attributes){ x->nattributes, x->attribute });
	return status;
}

static int define_dimensions(struct netcdf_file *f, const struct netcdf_array *a)
{
	int status = NC_NOERR;
	for (int i = 0; i <= f->shape.nd && status == NC_NOERR; i++)
		status = define_dimension(f, a, i);
	/* the names of channels are their coordinates */
	if (status == NC_NOERR && a->has_channels && a->channels)
		status = lib.nc_def_var(f->nc, "channel", NC_STRING, 1, &f->dimension[1],
		                        &f->coordinate[1]);
	return status;
}

static int write_coordinates(struct netcdf_file *f, const struct netcdf_array *a)
{
	int status = NC_NOERR;
	for (int i = 0; i <= f->shape.nd && status == NC_NOERR; i++) {
		const struct axis *x = axis_of(a, i);
		if (f->coordinate[i] < 0)
			continue;
		status = x ? lib.nc_put_var_double(f->nc, f->coordinate[i], x->values) :
			lib.nc_put_var_string(f->nc, f->coordinate[i], (const char **)(uintptr_t)a->channels);
	}
	return status;
}

/* --- the place on the earth --- */

/* The dimension of axis k of the axes. */
static int dimension_of(const struct netcdf_file *f, const struct netcdf_array *a, int k)
{
	return f->dimension[k + (k > 0 && a->has_channels)];
}

/* A variable that has the name of a dimension would be its coordinates. */
static int define_variable(struct netcdf_file *f, const char *name, nc_type type, int nd,
                           const int *dimension, int *var)
{
	int id, status = NC_ENAMEINUSE;
	if (lib.nc_inq_dimid(f->nc, name, &id) != NC_NOERR)
		status = lib.nc_def_var(f->nc, name, type, nd, dimension, var);
	if (status == NC_EBADNAME || status == NC_ENAMEINUSE || status == NC_EMAXNAME) {
		*var = -1;
		return NC_NOERR;
	}
	return status;
}

static int define_fields(struct netcdf_file *f, const struct netcdf_array *a, struct buf *names)
{
	int status = NC_NOERR;
	f->field = mem_calloc((size_t)a->axes->nfields + 1, sizeof *f->field);
	for (int i = 0; i < a->axes->nfields && status == NC_NOERR; i++) {
		const struct axis_field *x = &a->axes->field[i];
		int on[MAXD];

		for (int k = 0; k < x->nd; k++)
			on[k] = dimension_of(f, a, x->on[k]);
		status = define_variable(f, x->name, x->dtype == DTYPE_F32 ? NC_FLOAT : NC_DOUBLE, x->nd,
		                         on, &f->field[i]);
		if (status != NC_NOERR || f->field[i] < 0)
			continue;
		put_attributes(f, f->field[i], x->attributes);
		buf_printf(names, "%s%s", names->len ? " " : "", x->name);
	}
	return status;
}

static int define_mappings(struct netcdf_file *f, const struct netcdf_array *a, bool *all)
{
	int status = NC_NOERR, var;
	*all = a->axes->grid_mapping;
	for (int i = 0; i < a->axes->nmappings && status == NC_NOERR; i++) {
		status = define_variable(f, a->axes->mapping[i].name, NC_INT, 0, NULL, &var);
		if (status == NC_NOERR && var >= 0)
			put_attributes(f, var, a->axes->mapping[i].attributes);
		*all = *all && var >= 0;
	}
	return status;
}

/* Writes coordinate fields by the CF conventions: as variables, named in attributes of the
 * array. */
static int describe_place(struct netcdf_file *f, const struct netcdf_array *a)
{
	struct buf names = BUF_INIT;
	bool mapped = false;
	int status;
	if (!a->axes)
		return NC_NOERR;
	status = define_fields(f, a, &names);
	if (status == NC_NOERR)
		status = define_mappings(f, a, &mapped);
	if (status == NC_NOERR && names.len)
		status = lib.nc_put_att_text(f->nc, f->var, "coordinates", names.len, names.data);
	if (status == NC_NOERR && mapped)
		status = lib.nc_put_att_text(f->nc, f->var, "grid_mapping",
		                             strlen(a->axes->grid_mapping), a->axes->grid_mapping);
	buf_release(&names);
	return status;
}

static int write_fields(struct netcdf_file *f, const struct netcdf_array *a)
{
	int status = NC_NOERR;
	for (int i = 0; a->axes && i < a->axes->nfields && status == NC_NOERR; i++)
		if (f->field[i] >= 0)
			status = lib.nc_put_var(f->nc, f->field[i], a->axes->field[i].values);
	return status;
}

/* --- the array --- */

/* The names of classes as words between blanks, as the CF conventions have them. */
static int write_meanings(struct netcdf_file *f, const struct netcdf_array *a)
{
	struct buf words = BUF_INIT;
	int *flags = mem_calloc((size_t)a->nchannels + 1, sizeof *flags);
	for (int64_t i = 0; i < a->nchannels; i++) {
		flags[i] = (int)i;
		buf_puts(&words, i ? " " : "");
		for (const char *p = a->channels[i]; *p; p++)
			buf_putc(&words, strchr(" \t\n", *p) ? '_' : *p);
	}
	int status = lib.nc_put_att_int(f->nc, f->var, "flag_values", NC_INT, (size_t)a->nchannels,
	                                flags);
	if (status == NC_NOERR)
		status = lib.nc_put_att_text(f->nc, f->var, "flag_meanings", words.len, words.data);
	buf_release(&words);
	mem_free(flags);
	return status;
}

static int describe_channels(struct netcdf_file *f, const struct netcdf_array *a)
{
	struct buf names = BUF_INIT;
	for (int64_t i = 0; a->channels && i < a->nchannels; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", a->channels[i]);
	const char *what = a->classes ? "classes" : "channels";
	int status = names.len ? lib.nc_put_att_text(f->nc, f->var, what, names.len, names.data) :
	             NC_NOERR;
	if (status == NC_NOERR && names.len && a->classes)
		status = write_meanings(f, a);
	buf_release(&names);
	return status;
}

static int define(struct netcdf_file *f, const struct netcdf_array *a)
{
	int status = define_dimensions(f, a);
	if (status == NC_NOERR)
		status = lib.nc_def_var(f->nc, a->name, f->dtype == DTYPE_I32 ? NC_INT : NC_FLOAT,
		                        f->shape.nd + 1, f->dimension, &f->var);
	if (status == NC_NOERR)
		status = describe_channels(f, a);
	if (status == NC_NOERR)
		status = describe_place(f, a);
	if (status == NC_NOERR)
		status = lib.nc_enddef(f->nc);
	if (status == NC_NOERR)
		status = write_coordinates(f, a);
	return status == NC_NOERR ? write_fields(f, a) : status;
}

/* A file that HDF5 could not write stays open for it, and what HDF5 does when the program exits
 * then crashes; closed files need nothing of it. Does something before HDF5's first use alone. */
static void skip_exit_of_hdf5(void)
{
	void *found = library_find(OPENED, "H5dont_atexit");
	int (*dont_atexit)(void);
	memcpy(&dont_atexit, &found, sizeof dont_atexit);
	if (found)
		dont_atexit();
}

/* An empty file; *out is there to be discarded in any case. */
static int create(struct netcdf_file **out, const char *path)
{
	struct netcdf_file *f = *out = mem_calloc(1, sizeof *f);
	f->path = mem_strdup(path);
	TRY(load());
	skip_exit_of_hdf5();
	TRY(io_create(&f->file, path));
	if (!io_temporary(f->file))
		return ERR(E_CANTCREATE, NULL, "cannot create '%s': netCDF needs a regular file", path);
	const int status = lib.nc_create(io_temporary(f->file), NC_NETCDF4 | NC_CLOBBER, &f->nc);
	f->open = status == NC_NOERR;
	return f->open ? 0 : fail(f, E_CANTCREATE, status);
}

int netcdf_create(struct netcdf_file **out, const char *path, const struct netcdf_array *a)
{
	struct netcdf_file *f;
	int rc = create(&f, path), status = NC_NOERR;
	f->shape = *a->shape;
	f->dtype = a->dtype;
	f->lead = a->has_channels;
	if (rc == 0)
		status = define(f, a);
	if (status != NC_NOERR)
		rc = fail(f, E_CANTCREATE, status);
	if (rc < 0)
		netcdf_discard(f);
	else
		*out = f;
	return rc;
}

int netcdf_write(struct netcdf_file *f, int64_t i, const void *v)
{
	return netcdf_write_rows(f, i, 0, f->shape.nd > f->lead ? f->shape.d[f->lead] : 1, v);
}

int netcdf_write_rows(struct netcdf_file *f, int64_t i, int64_t first, int64_t rows, const void *v)
{
	size_t start[MAXD + 1] = { (size_t)i }, count[MAXD + 1] = { 1 };
	for (int k = 0; k < f->shape.nd; k++)
		count[k + 1] = (size_t)f->shape.d[k];
	if (f->shape.nd > f->lead) {
		start[1 + f->lead] = (size_t)first;
		count[1 + f->lead] = (size_t)rows;
	}
	int status = f->dtype == DTYPE_I32 ? lib.nc_put_vara_int(f->nc, f->var, start, count, v) :
		lib.nc_put_vara_float(f->nc, f->var, start, count, v);
	return status == NC_NOERR ? 0 : fail(f, E_IO, status);
}

/* The library closes without a sync of its own. */
int netcdf_commit(struct netcdf_file *f)
{
	int status = lib.nc_close(f->nc);
	int rc = status == NC_NOERR ? 0 : fail(f, E_IO, status);
	f->open = false;
	if (rc == 0) {
		rc = io_commit(f->file);
		f->file = NULL;
	}
	netcdf_discard(f);
	return rc;
}

static int put_all(struct netcdf_file *f, const struct netcdf_dimension *d, int nd,
                   const struct netcdf_variable *v, int nv)
{
	int *dimension = mem_calloc((size_t)nd + 1, sizeof *dimension), on[MAXD], var,
	    status = NC_NOERR;
	for (int i = 0; i < nd && status == NC_NOERR; i++) {
		status = lib.nc_def_dim(f->nc, d[i].name, (size_t)d[i].n, &dimension[i]);
		if (status == NC_NOERR && d[i].values)
			status = lib.nc_def_var(f->nc, d[i].name, NC_DOUBLE, 1, &dimension[i], &var);
		if (status == NC_NOERR && d[i].values)
			status = lib.nc_put_var_double(f->nc, var, d[i].values);
	}
	for (int i = 0; i < nv && status == NC_NOERR; i++) {
		for (int k = 0; k < v[i].nd; k++)
			on[k] = dimension[v[i].on[k]];
		status = lib.nc_def_var(f->nc, v[i].name, v[i].wide ? NC_DOUBLE : NC_FLOAT, v[i].nd, on,
		                        &var);
		if (status == NC_NOERR)
			status = lib.nc_put_var_double(f->nc, var, v[i].v);
	}
	mem_free(dimension);
	return status == NC_NOERR ? 0 : fail(f, E_IO, status);
}

int netcdf_write_all(const char *path, const struct netcdf_dimension *dimension, int ndimensions,
                     const struct netcdf_variable *variable, int nvariables)
{
	struct netcdf_file *f;
	int rc = create(&f, path);
	if (rc == 0)
		rc = put_all(f, dimension, ndimensions, variable, nvariables);
	if (rc == 0)
		return netcdf_commit(f);
	netcdf_discard(f);
	return rc;
}

void netcdf_discard(struct netcdf_file *f)
{
	if (!f)
		return;
	if (f->open)
		lib.nc_close(f->nc);
	io_discard(f->file);
	mem_free(f->path);
	mem_free(f->field);
	mem_free(f);
}
