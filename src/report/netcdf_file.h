/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One array of samples as a netCDF-4 file. Its dimensions are sample, channel and those of depth,
 * height, width that there are; if the data's axes have names, dimensions have these names, and the
 * axes' coordinates; coordinates on several axes and grid mappings are variables, too. Such a file
 * is an HDF5 file as well, in which dimensions are dimension scales. It is written under a
 * temporary name next to its final one, which it gets by netcdf_commit. The only file that includes
 * <netcdf.h> is netcdf_file.c. */
#ifndef DLX_REPORT_NETCDF_FILE_H
#define DLX_REPORT_NETCDF_FILE_H

#include "base/types.h"
#include "data/axes.h"

struct netcdf_file;

struct netcdf_array {
	const char *name;
	enum dtype dtype;                /* F32, or I32 for class numbers */
	int64_t samples;
	const struct shape *shape;       /* shape of one sample */
	bool has_channels;               /* its first axis is the channels */
	const char *const *channels;     /* names of the channels, or of the classes if `classes`; or
	                                  * NULL */
	int64_t nchannels;
	bool classes;                    /* values are class numbers, indices into `channels` */
	const struct axes *axes;         /* axes of samples and positions, with the extents of shape;
	                                  * NULL: nothing is known */
};
/* Creates the file and a variable for the array. The pointers in *a are borrowed for the call.
 * E_CANTCREATE. */
int netcdf_create(struct netcdf_file **out, const char *path, const struct netcdf_array *a);
/* Writes sample i, in plain layout. E_IO. */
int netcdf_write(struct netcdf_file *f, int64_t i, const void *v);
/* Writes rows first .. first + rows - 1 of sample i along the first axis of positions. v: [channels
 * x] rows x the other axes, in plain layout. E_IO. */
int netcdf_write_rows(struct netcdf_file *f, int64_t i, int64_t first, int64_t rows, const void *v);
/* Frees f whatever the outcome. E_IO. */
int netcdf_commit(struct netcdf_file *f);
void netcdf_discard(struct netcdf_file *f);      /* NULL is fine */

/* A file of several variables that share dimensions. The coordinates of the dimensions are
 * variables too. The file is written in one call, completely or not at all. */
struct netcdf_dimension {
	const char *name;
	int64_t n;
	const double *values;            /* coordinates, n of them; NULL: none */
};
struct netcdf_variable {
	const char *name;
	int nd, on[MAXD];                /* number of dimensions, and their indices */
	bool wide;                       /* stored as double, not as float */
	const double *v;
};
/* E_CANTCREATE, E_IO. */
int netcdf_write_all(const char *path, const struct netcdf_dimension *dimension, int ndimensions,
                     const struct netcdf_variable *variable, int nvariables);

#endif
