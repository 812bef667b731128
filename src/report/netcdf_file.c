/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thin layer over libnetcdf that keeps dlx's promises: errors name the path, and a file is there
 * whole or not at all. The library is opened here, since with what it depends on it takes
 * milliseconds to load. */
#include "report/netcdf_file.h"

#include <netcdf.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/library.h"
#include "base/mem.h"
#include "config.h"

#define FUNCTIONS(X) \
	X(nc_create) X(nc_close) X(nc_def_dim) X(nc_def_var) X(nc_enddef) X(nc_put_att_text) \
	X(nc_put_vara_float) X(nc_put_vara_int) X(nc_strerror)

#ifdef DLX_NETCDF_LIBRARY
LIBRARY_LATE(FUNCTIONS, DLX_NETCDF_LIBRARY, "netCDF")
#else
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
	struct io_file *file;           /* which the library writes by its temporary name */
	int nc, var;
	struct shape shape;             /* of one sample */
	enum dtype dtype;
	bool open;
};

static int fail(const struct netcdf_file *f, int code, int status)
{
	return ERR(code, NULL, "cannot write '%s': %s", f->path, lib.nc_strerror(status));
}

static int define_dimensions(struct netcdf_file *f, const struct netcdf_array *a,
                             int dims[MAXD + 1])
{
	static const char *const spatial[] = { "width", "height", "depth" };
	int status = lib.nc_def_dim(f->nc, "sample", (size_t)a->samples, &dims[0]);
	for (int i = 0; i < f->shape.nd && status == NC_NOERR; i++) {
		char name[16];
		if (i == 0 && a->has_channels)
			snprintf(name, sizeof name, "channel");
		else if (f->shape.nd - 1 - i < 3)
			snprintf(name, sizeof name, "%s", spatial[f->shape.nd - 1 - i]);
		else
			snprintf(name, sizeof name, "axis%d", i);
		status = lib.nc_def_dim(f->nc, name, (size_t)f->shape.d[i], &dims[i + 1]);
	}
	return status;
}

static int describe_channels(struct netcdf_file *f, const struct netcdf_array *a)
{
	struct buf names = BUF_INIT;
	for (int64_t i = 0; a->channels && i < a->nchannels; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", a->channels[i]);
	const char *what = a->has_channels ? "channels" : "classes";
	int status = names.len ? lib.nc_put_att_text(f->nc, f->var, what, names.len, names.data) :
	             NC_NOERR;
	buf_release(&names);
	return status;
}

static int define(struct netcdf_file *f, const struct netcdf_array *a)
{
	int dims[MAXD + 1], status = define_dimensions(f, a, dims);
	if (status == NC_NOERR)
		status = lib.nc_def_var(f->nc, a->name, f->dtype == DTYPE_I32 ? NC_INT : NC_FLOAT,
		                        f->shape.nd + 1, dims, &f->var);
	if (status == NC_NOERR)
		status = describe_channels(f, a);
	return status == NC_NOERR ? lib.nc_enddef(f->nc) : status;
}

int netcdf_create(struct netcdf_file **out, const char *path, const struct netcdf_array *a)
{
	TRY(load());
	struct netcdf_file *f = mem_calloc(1, sizeof *f);
	f->path = mem_strdup(path);
	f->shape = *a->shape;
	f->dtype = a->dtype;
	int rc = io_create(&f->file, path);
	if (rc == 0 && !io_temporary(f->file))
		rc = ERR(E_CANTCREATE, NULL, "cannot create '%s': netCDF needs a regular file", path);
	if (rc < 0) {
		netcdf_discard(f);
		return rc;
	}
	int status = lib.nc_create(io_temporary(f->file), NC_NETCDF4 | NC_CLOBBER, &f->nc);
	f->open = status == NC_NOERR;
	if (f->open)
		status = define(f, a);
	if (status != NC_NOERR) {
		rc = fail(f, E_CANTCREATE, status);
		netcdf_discard(f);
		return rc;
	}
	*out = f;
	return 0;
}

int netcdf_write(struct netcdf_file *f, int64_t i, const void *v)
{
	return netcdf_write_rows(f, i, 0, f->shape.nd > 1 ? f->shape.d[1] : 1, v);
}

int netcdf_write_rows(struct netcdf_file *f, int64_t i, int64_t first, int64_t rows, const void *v)
{
	size_t start[MAXD + 1] = { (size_t)i }, count[MAXD + 1] = { 1 };
	for (int k = 0; k < f->shape.nd; k++)
		count[k + 1] = (size_t)f->shape.d[k];
	if (f->shape.nd > 1) {
		start[2] = (size_t)first;
		count[2] = (size_t)rows;
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

void netcdf_discard(struct netcdf_file *f)
{
	if (!f)
		return;
	if (f->open)
		lib.nc_close(f->nc);
	io_discard(f->file);
	mem_free(f->path);
	mem_free(f);
}
