/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dimension scales of HDF5 files: the names and coordinates of a dataset's axes. */
#ifndef DLX_DATA_TOOLS_HDF5_SCALE_H
#define DLX_DATA_TOOLS_HDF5_SCALE_H

#include "source.h"

/* An axis is called as its scale is; data: an hid_t. */
void hdf5_name_axes(struct source *s, int64_t data);
/* What struct source_format has of the same name, of axis i of nd. */
void hdf5_coordinates(int64_t data, int nd, int i, struct arena *a, struct axis *out);

#endif
