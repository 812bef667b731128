/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the values of a Zarr array. */
#ifndef DLX_DATA_TOOLS_ZARR_ARRAY_H
#define DLX_DATA_TOOLS_ZARR_ARRAY_H

#include "data-tools/source/zarr/zarr_meta.h"

struct zarr_array;

/* Opens the array in a folder of the store, which is borrowed. E_DATA, E_NOINPUT, E_IO. */
int zarr_open(struct zarr_array **out, const struct zarr_store *st, const char *folder);
void zarr_close(struct zarr_array *z);           /* NULL is fine */
const struct zarr_meta *zarr_meta(const struct zarr_array *z);
/* Reads n > 0 rows of the first axis, from row `first` on, as values of element.dtype in C order.
 * An array without axes is read as one row (first 0, n 1). */
int zarr_read(struct zarr_array *z, int64_t first, int64_t n, void *out);
/* Reads a box of an array that has axes, in the same form. */
int zarr_read_box(struct zarr_array *z, const int64_t *start, const int64_t *count, void *out);

#endif
