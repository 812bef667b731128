/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the coordinates of two axes relate: whether they are the same positions in the same order. */
#ifndef DLX_DATA_AXES_MATCH_H
#define DLX_DATA_AXES_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "data/axes.h"

enum axis_relation {
	AXIS_SAME,
	AXIS_UNKNOWN_RELATION,           /* one axis has no coordinates, or has some that are NaN */
	AXIS_REVERSED,
	AXIS_ROLLED,                     /* the same positions, rotated cyclically */
	AXIS_SHIFTED,                    /* all coordinates differ by the same offset */
	AXIS_OTHER                       /* other positions, or another number of them */
};
struct axis_relation_of {
	enum axis_relation relation;
	int64_t roll;                    /* position i of y is position (i + roll) mod n of x */
	double offset;                   /* y - x */
};
/* Compares x and y. Coordinates are equal if they differ by at most a thousandth of x's smallest
 * spacing, or by what rounding to float may change. longitude: values that differ by 360 degrees
 * are equal. */
struct axis_relation_of axis_relate(const struct axis *x, const struct axis *y, bool longitude);
/* Decides by the axis' units and standard_name; without these, by its name. */
bool axis_is_longitude(const struct axis *x);
/* The attribute's text, or NULL. */
const char *axis_text(const struct axis *x, const char *name);
/* Appends "lat 90 ... -90 degrees_north (5 of them)". */
void axis_describe(const struct axis *x, struct buf *out);
/* Appends how y differs from x, after "are ": "in reversed order", "rolled by 4 of 8", ... */
void axis_relation_describe(struct axis_relation_of r, const struct axis *x, struct buf *out);

#endif
