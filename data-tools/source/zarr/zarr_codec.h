/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The codecs that compress the bytes of a Zarr chunk. */
#ifndef DLX_DATA_TOOLS_ZARR_CODEC_H
#define DLX_DATA_TOOLS_ZARR_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum zarr_codec { ZARR_GZIP, ZARR_ZLIB, ZARR_ZSTD, ZARR_BLOSC, ZARR_CRC32C };

/* Finds a codec by its name in the metadata; false: not known. */
bool zarr_codec_find(enum zarr_codec *out, const char *name);
const char *zarr_codec_name(enum zarr_codec c);
/* The name of the library that this build lacks for codec c, or NULL. */
const char *zarr_codec_lacks(enum zarr_codec c);
/* Decompresses n bytes to exactly `want` bytes. Returns NULL, or a description of the damage. */
const char *zarr_unpack(enum zarr_codec c, const void *in, size_t n, void *out, size_t want);

#endif
