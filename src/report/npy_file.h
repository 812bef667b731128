/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The header of a NumPy file. */
#ifndef DLX_REPORT_NPY_FILE_H
#define DLX_REPORT_NPY_FILE_H

#include "base/buf.h"
#include "base/types.h"

/* Appends the header of an array (samples, s...) of int32, uint8 or float32; the values must
 * follow, row-major. */
void npy_header(struct buf *h, enum dtype dtype, int64_t samples, const struct shape *s);

/* Appends the header of one array of any type except bf16, which NumPy does not have. */
void npy_array_header(struct buf *h, enum dtype dtype, const struct shape *s);

#endif
