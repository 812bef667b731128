/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions shared by the readers of HDF5 and of NetCDF-4, which is based on HDF5: errors for files
 * that the library cannot open and for filters that it lacks, and the size of its chunk cache. */
#ifndef DLX_DATA_TOOLS_HDF5_FILE_H
#define DLX_DATA_TOOLS_HDF5_FILE_H

#include <stddef.h>

#include "data-tools/source/source.h"

/* Whether a file is HDF5, with or without a user block before its signature. */
bool hdf5_is_file(const char *path);
/* Whether the open file (an hid_t) was written by the netCDF library or in its conventions. */
bool hdf5_is_netcdf(int64_t file);
/* Raises the error for a file that the library could not open: E_NOINPUT if another program is
 * writing it, else E_DATA with the reason. */
int hdf5_refuse(const struct source *s);
/* Raises E_DATA with `what` and the library's message about the call that just failed. */
int hdf5_bad(const struct source *s, const char *what);
/* Raises E_DATA for a filter that the library lacks; name: as given in the file, or NULL. */
int hdf5_no_filter(const struct source *s, int id, const char *name);
/* Computes the bytes, and the number of hash slots, of the library's cache for chunks of these
 * extents. A chunk is decompressed as a whole and may be needed by several pieces, so it should
 * stay in the cache. */
void hdf5_cache(const struct source *s, const int64_t *chunk, size_t *slots, size_t *bytes);

#endif
