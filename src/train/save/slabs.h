/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An array of samples ([channels,] rows, ...) of float32 or int32 in a .npy, .nc or .h5 file,
 * written some rows at a time. */
#ifndef DLX_TRAIN_SLABS_H
#define DLX_TRAIN_SLABS_H

#include "report/netcdf_file.h"

struct slabs;

/* Whether path has an extension that can be written in slabs: .npy, .nc, .h5 or .hdf5. */
bool slabs_takes(const char *path);
/* Creates the file. path must pass slabs_takes; a is borrowed during the call only.
 * E_CANTCREATE. */
int slabs_create(struct slabs **out, const char *path, const struct netcdf_array *a);
/* Writes rows first .. first + rows - 1 of every channel of sample i. v has the shape [channels,]
 * rows, and the remaining axes. E_IO. */
int slabs_write(struct slabs *f, int64_t i, int64_t first, int64_t rows, const void *v);
/* Makes the file visible if rc is 0, else removes it, and frees f, which may be NULL. Returns rc,
 * or the error of closing if rc is 0. */
int slabs_close(struct slabs *f, int rc);

#endif
