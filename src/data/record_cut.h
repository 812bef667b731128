/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How arrays are cut into chunks; private to the writer and the reader of records. */
#ifndef DLX_DATA_RECORD_CUT_H
#define DLX_DATA_RECORD_CUT_H

#include "data/record.h"

/* Chunk c of array k, for samples of a size. The array consists of strips (one for each channel),
 * which follow each other and have `extent` rows of `row` bytes each. The chunk is rows first ..
 * first + rows - 1 of every strip. */
struct record_cut {
	int64_t strips, extent, first, rows;
	size_t row;
};
struct record_cut record_cut(const struct record_info *i, int size, int k, int64_t c);
/* The number of chunks of array k. */
int64_t record_cuts(const struct record_info *i, int size, int k);

#endif
