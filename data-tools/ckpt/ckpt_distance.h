/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The distance between two arrays of the same type. */
#ifndef DLX_DATA_TOOLS_CKPT_DISTANCE_H
#define DLX_DATA_TOOLS_CKPT_DISTANCE_H

#include "base/types.h"

struct distance {
	int64_t differ;                /* number of values that differ in any bit */
	int64_t undefined;             /* number of these in which either value is NaN */
	double largest;                /* largest absolute difference of the others */
	uint64_t ulps;                 /* largest distance in units in the last place; for integers the
	                                * largest difference */
	double squares, base;          /* sum of squares of differences; sum of squares of the first
	                                * array's values */
};

/* Adds n pairs of values to d, which must be zeroed first. Pairs with a NaN count in `differ` and
 * `undefined` only. Pointers may have any alignment. */
void distance_add(struct distance *d, enum dtype type, const void *a, const void *b, int64_t n);
/* Adds n values that are equal in both arrays. */
void distance_add_same(struct distance *d, enum dtype type, const void *a, int64_t n);
/* The L2 norm of the difference divided by that of the first array: 0 if nothing differs, infinite
 * if the first array is 0, NaN if a value is NaN. */
double distance_relative(const struct distance *d);

#endif
