/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How far apart two arrays of one type are. */
#ifndef DLX_DATA_TOOLS_CKPT_DISTANCE_H
#define DLX_DATA_TOOLS_CKPT_DISTANCE_H

#include "base/types.h"

struct distance {
	int64_t differ;                /* values of which some bit differs */
	int64_t undefined;             /* of these: those of which one side is NaN */
	double largest;                /* absolute difference of the others */
	uint64_t ulps;                 /* most steps between two; of integers the difference */
	double squares, base;          /* sums of squares of differences, of the first array's values */
};

/* Adds n values; a zeroed distance is that of nothing. Those undefined count in `differ` alone. Any
 * alignment. */
void distance_add(struct distance *d, enum dtype type, const void *a, const void *b, int64_t n);
/* Adds n values that are the same on both sides. */
void distance_add_same(struct distance *d, enum dtype type, const void *a, int64_t n);
/* The L2 norm of the difference by that of the first array: 0 where nothing differs, infinite where
 * the first array is 0, NaN where some value is. */
double distance_relative(const struct distance *d);

#endif
