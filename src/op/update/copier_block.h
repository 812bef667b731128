/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 16 x 16 floats, given by rows, to the forms in which kernels read weights:
 *
 *   ROWS     rows as they are
 *   PAIRS    two rows interleaved: row 0 and 1 element by element, 2 and 3, ... (oneDNN's 2b after
 *            16a)
 *   TRANSPOSED   columns, two of them interleaved (2a after 16b)
 *   COLUMNS  columns one after the other (16b after 16a) */
#ifndef DLX_OP_UPDATE_COPIER_BLOCK_H
#define DLX_OP_UPDATE_COPIER_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum copier_form { COPIER_ROWS, COPIER_PAIRS, COPIER_TRANSPOSED, COPIER_COLUMNS };

/* The source has 16 floats per row; rows are from_step floats apart. The result is n pieces of 16
 * or 32 adjacent elements, at to + to_at[0], to + to_at[1], ...: a piece holds one row (ROWS), two
 * rows (PAIRS), one column (COLUMNS) or two columns (TRANSPOSED). The column forms read 16 rows. */
struct copier_block {
	const float *from;
	int64_t from_step;
	const int64_t *to_at;
	int n;
};
typedef void copier_block_fn(const struct copier_block *b, void *to);
copier_block_fn *copier_block_of(enum copier_form form, bool bf16);

#endif
