/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dimension scales of HDF5 files: the names and coordinates of a dataset's axes. */
#ifndef DLX_DATA_TOOLS_HDF5_SCALE_H
#define DLX_DATA_TOOLS_HDF5_SCALE_H

#include "data-tools/source/source.h"

/* Names each axis of s after its dimension scale; data: an hid_t. */
void hdf5_name_axes(struct source *s, int64_t data);
/* The `coordinates` of struct source_format, for axis i of nd. */
void hdf5_coordinates(int64_t data, int nd, int i, struct arena *a, struct axis *out);

/* The attributes of a dataset, without those that the HDF5 library itself uses; in arena a. */
struct axis_attributes hdf5_attributes(int64_t data, struct arena *a);

#endif
