/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The values of a Zarr array. */
#ifndef DLX_DATA_TOOLS_ZARR_ARRAY_H
#define DLX_DATA_TOOLS_ZARR_ARRAY_H

#include "data-tools/source/zarr/zarr_meta.h"

struct zarr_array;

/* The array in a folder of the store, which is borrowed. E_DATA, E_NOINPUT, E_IO. */
int zarr_open(struct zarr_array **out, const struct zarr_store *st, const char *folder);
void zarr_close(struct zarr_array *z);           /* NULL is fine */
const struct zarr_meta *zarr_meta(const struct zarr_array *z);
/* n > 0 rows from `first` on of the first axis (of an array without axes its value: 0, 1), as
 * element.dtype has them, in C order. */
int zarr_read(struct zarr_array *z, int64_t first, int64_t n, void *out);
/* The same of a box of an array that has axes. */
int zarr_read_box(struct zarr_array *z, const int64_t *start, const int64_t *count, void *out);

#endif
