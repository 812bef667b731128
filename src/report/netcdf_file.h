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
	enum dtype dtype;                /* F32, or I32 for the numbers of classes */
	int64_t samples;
	const struct shape *shape;       /* of one */
	bool has_channels;               /* its first axis is the channels */
	const char *const *channels;     /* names of channels, or of the classes that the values number;
	                                  * or NULL */
	int64_t nchannels;
	bool classes;                    /* values are numbers of channels */
	const struct axes *axes;         /* of samples and of places, with the extents of shape; NULL:
	                                  * nothing is known of them */
};
/* A variable for the array. What a is made of is borrowed for the call. E_CANTCREATE. */
int netcdf_create(struct netcdf_file **out, const char *path, const struct netcdf_array *a);
/* Sample i, plain. E_IO. */
int netcdf_write(struct netcdf_file *f, int64_t i, const void *v);
/* Of sample i rows first .. first + rows - 1 of the first axis of places: [channels x] rows x the
 * rest, plain. E_IO. */
int netcdf_write_rows(struct netcdf_file *f, int64_t i, int64_t first, int64_t rows, const void *v);
/* Frees f whatever the outcome. E_IO. */
int netcdf_commit(struct netcdf_file *f);
void netcdf_discard(struct netcdf_file *f);      /* NULL is fine */

/* A file of several arrays over some of the same dimensions, whose coordinates are variables, too:
 * written at once, whole or not at all. */
struct netcdf_dimension {
	const char *name;
	int64_t n;
	const double *values;            /* NULL: none */
};
struct netcdf_variable {
	const char *name;
	int nd, on[MAXD];                /* numbers of dimensions */
	bool wide;                       /* stored as double, not as float */
	const double *v;
};
/* E_CANTCREATE, E_IO. */
int netcdf_write_all(const char *path, const struct netcdf_dimension *dimension, int ndimensions,
                     const struct netcdf_variable *variable, int nvariables);

#endif
