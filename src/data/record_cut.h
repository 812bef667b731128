/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How arrays are cut into chunks; private to the writer and the reader of records. */
#ifndef DLX_DATA_RECORD_CUT_H
#define DLX_DATA_RECORD_CUT_H

#include "data/record.h"

/* Chunk c of array k in samples of a size: some rows of each of its strips, which are `extent` rows
 * of `row` bytes each and follow each other in the array. */
struct record_cut {
	int64_t strips, extent, first, rows;
	size_t row;
};
struct record_cut record_cut(const struct record_info *i, int size, int k, int64_t c);
/* How many chunks it has. */
int64_t record_cuts(const struct record_info *i, int size, int k);

#endif
