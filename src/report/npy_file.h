/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The header of a NumPy file. */
#ifndef DLX_REPORT_NPY_FILE_H
#define DLX_REPORT_NPY_FILE_H

#include "base/io.h"
#include "base/types.h"

/* Writes the header of float32 samples x s; the values follow, row-major. E_IO. */
int npy_header(struct io_file *f, int64_t samples, const struct shape *s);

#endif
