/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The header of a NumPy file. */
#ifndef DLX_REPORT_NPY_FILE_H
#define DLX_REPORT_NPY_FILE_H

#include "base/buf.h"
#include "base/types.h"

/* Appends the header of samples x s, of int32, uint8 or float32; the values follow, row-major. */
void npy_header(struct buf *h, enum dtype dtype, int64_t samples, const struct shape *s);

/* Appends the header of one array, of any type but bf16, which NumPy has not. */
void npy_array_header(struct buf *h, enum dtype dtype, const struct shape *s);

#endif
