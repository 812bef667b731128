/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An array of float32 samples (channels, rows, ...) in a .npy or .nc file, written some rows at a
 * time. */
#ifndef DLX_TRAIN_SLABS_H
#define DLX_TRAIN_SLABS_H

#include "base/types.h"

struct slabs;

/* Whether the name of a file says that it can be written in slabs: .npy or .nc. */
bool slabs_takes(const char *path);
/* For such a path; channels: names of s->d[0] channels for .nc, or NULL. E_CANTCREATE. */
int slabs_create(struct slabs **out, const char *path, int64_t samples, const struct shape *s,
                 const char *const *channels);
/* Rows first .. first + rows - 1 of every channel of sample i: v is channels x rows x the rest.
 * E_IO. */
int slabs_write(struct slabs *f, int64_t i, int64_t first, int64_t rows, const float *v);
/* Makes the file visible if rc is 0, else removes it; frees f, which may be NULL. Returns rc or
 * what went wrong. */
int slabs_close(struct slabs *f, int rc);

#endif
