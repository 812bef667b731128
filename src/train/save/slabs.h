/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An array of samples ([channels,] rows, ...) of float32 or int32 in a .npy, .nc or .h5 file,
 * written some rows at a time. */
#ifndef DLX_TRAIN_SLABS_H
#define DLX_TRAIN_SLABS_H

#include "report/netcdf_file.h"

struct slabs;

/* Whether the name of a file says that it can be written in slabs: .npy, .nc, .h5 or .hdf5. */
bool slabs_takes(const char *path);
/* For such a path; what a is made of is borrowed for the call. E_CANTCREATE. */
int slabs_create(struct slabs **out, const char *path, const struct netcdf_array *a);
/* Rows first .. first + rows - 1 of every channel of sample i: v is [channels x] rows x the rest.
 * E_IO. */
int slabs_write(struct slabs *f, int64_t i, int64_t first, int64_t rows, const void *v);
/* Makes the file visible if rc is 0, else removes it; frees f, which may be NULL. Returns rc or
 * what went wrong. */
int slabs_close(struct slabs *f, int rc);

#endif
