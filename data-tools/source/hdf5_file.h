/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the readers of HDF5 and of NetCDF-4, which is HDF5, have in common: files that the library
 * does not open, filters that it lacks, and its cache of chunks. */
#ifndef DLX_DATA_TOOLS_HDF5_FILE_H
#define DLX_DATA_TOOLS_HDF5_FILE_H

#include <stddef.h>

#include "data-tools/source/source.h"

/* Whether a file is one, with a block of the user's before it or without. */
bool hdf5_is_file(const char *path);
/* Whether the netCDF library wrote the open file (an hid_t), or one that writes as it does. */
bool hdf5_is_netcdf(int64_t file);
/* The error for a file that the library has not opened: E_NOINPUT if another program writes it,
 * E_DATA with the reason otherwise. */
int hdf5_refuse(const struct source *s);
/* E_DATA: what is wrong, and what the library said when a call failed just now. */
int hdf5_bad(const struct source *s, const char *what);
/* The error for a filter that the library lacks; name: as the file has it, or NULL. E_DATA. */
int hdf5_no_filter(const struct source *s, int id, const char *name);
/* How many bytes of chunks of these extents to keep, and in how many places: a chunk is unpacked as
 * a whole, and several pieces may need it. */
void hdf5_cache(const struct source *s, const int64_t *chunk, size_t *slots, size_t *bytes);

#endif
