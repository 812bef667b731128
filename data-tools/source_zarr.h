/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DLX_DATA_TOOLS_SOURCE_ZARR_H
#define DLX_DATA_TOOLS_SOURCE_ZARR_H

#include <stdbool.h>

/* Whether a folder or ZIP file has the metadata of a Zarr array or group. */
bool source_is_zarr(const char *path);

#endif
