/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes arrays to files. The HDF5 and NetCDF libraries open files by name, so they write to the
 * temporary name of an io_file, which is renamed when it is complete. */
#include <hdf5.h>
#include <netcdf.h>
#include <png.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/shown.h"
#include "data-tools/make/example/example.h"
#include "report/npy_file.h"

struct example_array example_new(const char *name, const char *about, enum dtype dtype, int nd,
                                 const int64_t *d)
{
	struct example_array a = { .name = name, .about = about, .dtype = dtype };
	a.shape = shape_of(nd, d);
	a.data = mem_calloc((size_t)shape_count(&a.shape), dtype_size(dtype));
	return a;
}

void example_release(struct example_array *a, int n)
{
	for (int i = 0; i < n; i++)
		mem_free(a[i].data);
}

static size_t bytes(const struct example_array *a)
{
	return (size_t)shape_count(&a->shape) * dtype_size(a->dtype);
}

/* --- plain formats --- */

static int write_npy(struct io_file *f, const struct example_array *a, int n)
{
	struct shape sample = shape_of(a->shape.nd - 1, a->shape.d + 1);
	struct buf h = BUF_INIT;
	int rc;
	(void)n;
	npy_header(&h, a->dtype, a->shape.d[0], &sample);
	rc = io_write(f, h.data, h.len);
	buf_release(&h);
	return rc < 0 ? rc : io_write(f, a->data, bytes(a));
}

/* IDX, the format of MNIST: 0, 0, type 8 for bytes, the number of axes, big-endian extents. */
static int write_idx(struct io_file *f, const struct example_array *a, int n)
{
	uint8_t h[4 + 4 * MAXD] = { 0, 0, 8, (uint8_t)a->shape.nd };
	(void)n;
	for (int i = 0; i < a->shape.nd; i++)
		for (int k = 0; k < 4; k++)
			h[4 + 4 * i + k] = (uint8_t)(a->shape.d[i] >> (24 - 8 * k));
	TRY(io_write(f, h, 4 + 4 * (size_t)a->shape.nd));
	return io_write(f, a->data, bytes(a));
}

/* --- HDF5 --- */

static hid_t hdf5_type(enum dtype t)
{
	return t == DTYPE_U8 ? H5T_NATIVE_UINT8 : t == DTYPE_I16 ? H5T_NATIVE_INT16 : H5T_NATIVE_FLOAT;
}

static bool put_hdf5(hid_t file, const struct example_array *a)
{
	hsize_t d[MAXD];
	hid_t space, set;
	bool ok;
	for (int i = 0; i < a->shape.nd; i++)
		d[i] = (hsize_t)a->shape.d[i];
	space = H5Screate_simple(a->shape.nd, d, NULL);
	set = H5Dcreate2(file, a->name, hdf5_type(a->dtype), space, H5P_DEFAULT, H5P_DEFAULT,
	                 H5P_DEFAULT);
	ok = set >= 0 &&
	     H5Dwrite(set, hdf5_type(a->dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, a->data) >= 0;
	if (set >= 0)
		H5Dclose(set);
	H5Sclose(space);
	return ok;
}

static int write_hdf5(struct io_file *f, const struct example_array *a, int n)
{
	const hid_t file = H5Fcreate(io_temporary(f), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	bool ok = file >= 0;
	for (int i = 0; ok && i < n; i++)
		ok = put_hdf5(file, &a[i]);
	if (file >= 0 && H5Fclose(file) < 0)
		ok = false;
	return ok ? 0 : ERR(E_IO, NULL, "HDF5 cannot write '%s'", shown(io_temporary(f)));
}

/* --- NetCDF --- */

/* The dimension of that name, made when it is met first. */
static int netcdf_dimension(int file, const char *name, int64_t extent, int *dim)
{
	return nc_inq_dimid(file, name, dim) == NC_NOERR
	           ? NC_NOERR
	           : nc_def_dim(file, name, (size_t)extent, dim);
}

static int define_netcdf(int file, const struct example_array *a, int *var)
{
	int dim[MAXD], rc = NC_NOERR;
	for (int i = 0; rc == NC_NOERR && i < a->shape.nd; i++)
		rc = netcdf_dimension(file, a->axis[i], a->shape.d[i], &dim[i]);
	if (rc == NC_NOERR)
		rc = nc_def_var(file, a->name, a->dtype == DTYPE_F64 ? NC_DOUBLE : NC_FLOAT, a->shape.nd,
		                dim, var);
	if (rc == NC_NOERR && a->units)
		rc = nc_put_att_text(file, *var, "units", strlen(a->units), a->units);
	return rc;
}

static int write_netcdf(struct io_file *f, const struct example_array *a, int n)
{
	int file, var[16], rc = nc_create(io_temporary(f), NC_CLOBBER | NC_NETCDF4, &file), closed;
	if (rc != NC_NOERR)
		return ERR(E_CANTCREATE, NULL, "netCDF cannot make '%s': %s", shown(io_temporary(f)),
		           nc_strerror(rc));
	for (int i = 0; rc == NC_NOERR && i < n; i++)
		rc = define_netcdf(file, &a[i], &var[i]);
	for (int i = 0; rc == NC_NOERR && i < n; i++)
		rc = nc_put_var(file, var[i], a[i].data);
	closed = nc_close(file);
	rc = rc == NC_NOERR ? closed : rc;
	return rc == NC_NOERR ? 0
	                      : ERR(E_IO, NULL, "netCDF cannot write '%s': %s", shown(io_temporary(f)),
	                            nc_strerror(rc));
}

/* --- all --- */

static const struct {
	const char *extension;
	int (*write)(struct io_file *f, const struct example_array *a, int n);
	bool by_name, has_names;
} formats[] = {
	{ ".npy", write_npy, false, false },
	{ ".idx", write_idx, false, false },
	{ ".h5", write_hdf5, true, true },
	{ ".nc", write_netcdf, true, true },
};

static void print(const char *path, const struct example_array *a, int n, bool names)
{
	char text[SHAPE_TEXT];
	for (int i = 0; i < n; i++) {
		const char *dtype = dtype_name(a[i].dtype);

		printf("%-26s %-10s %-4s %-16s %s\n", i ? "" : shown(path), names ? a[i].name : "", dtype,
		       shape_text(&a[i].shape, text), a[i].about);
	}
}

int example_write(const char *dir, const char *file, const struct example_array *a, int n)
{
	const size_t count = sizeof formats / sizeof *formats;
	char *path = strcmp(dir, ".") == 0 ? mem_strdup(file) : io_join(dir, file);
	struct io_file *f;
	size_t k = 0;
	int rc = io_create(&f, path);
	while (k < count - 1 && !io_ends_in(file, formats[k].extension))
		k++;
	if (rc == 0 && formats[k].by_name && !io_temporary(f))
		rc = ERR(E_CANTCREATE, NULL, "'%s' is no regular file", shown(path));
	if (rc == 0) {
		rc = formats[k].write(f, a, n);
		if (rc == 0)
			rc = io_commit(f);
		else
			io_discard(f);
	}
	if (rc == 0)
		print(path, a, n, formats[k].has_names);
	mem_free(path);
	return rc;
}

/* --- pictures --- */

static int put_png(struct io_file *f, const struct shape *s, const uint8_t *pixels)
{
	png_image image = { .version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_GRAY,
		               .height = (png_uint_32)s->d[1], .width = (png_uint_32)s->d[2] };
	png_alloc_size_t n = PNG_IMAGE_PNG_SIZE_MAX(image);
	void *file = mem_alloc(n);
	int rc;

	if (png_image_write_to_memory(&image, file, &n, 0, pixels, 0, NULL))
		rc = io_write(f, file, n);
	else
		rc = ERR(E_IO, NULL, "png: %s", image.message);
	mem_free(file);
	return rc;
}

static int write_png(const char *path, const struct shape *s, const uint8_t *pixels)
{
	struct io_file *f;
	int rc;
	TRY(io_create(&f, path));
	rc = put_png(f, s, pixels);
	if (rc == 0)
		return io_commit(f);
	io_discard(f);
	return rc;
}

int example_pictures(const char *dir, const char *folder, const char *name,
                     const struct example_array *a)
{
	const int64_t n = a->shape.d[1] * a->shape.d[2];
	char *in = strcmp(dir, ".") == 0 ? mem_strdup(folder) : io_join(dir, folder);
	char file[64], *path;
	int rc = io_mkdirs(in);
	for (int64_t i = 0; rc == 0 && i < a->shape.d[0]; i++) {
		snprintf(file, sizeof file, "%s-%02d.png", name, (int)i);
		path = io_join(in, file);
		rc = write_png(path, &a->shape, (const uint8_t *)a->data + i * n);
		mem_free(path);
	}
	snprintf(file, sizeof file, "%s-*.png", name);
	path = io_join(in, file);
	if (rc == 0)
		print(path, a, 1, false);
	mem_free(path);
	mem_free(in);
	return rc;
}

/* --- random numbers --- */

struct example_rng example_rng(const char *name)
{
	return (struct example_rng){ .stream = hash_name(name) };
}

double example_uniform(struct example_rng *r, double from, double to)
{
	return from + (to - from) * rng_uniform(1, r->stream, 0, r->next++);
}

int example_choice(struct example_rng *r, int n)
{
	return (int)(rng_uniform(1, r->stream, 0, r->next++) * n);
}

double example_normal(struct example_rng *r)
{
	return rng_normal(1, r->stream, 1, r->next++);
}
