/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the coordinates of two axes relate: whether they are the same places in the same order. */
#ifndef DLX_DATA_AXES_MATCH_H
#define DLX_DATA_AXES_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "data/axes.h"

enum axis_relation {
	AXIS_SAME,
	AXIS_UNKNOWN_RELATION,           /* one of them has no coordinates, or some are no numbers */
	AXIS_REVERSED,
	AXIS_ROLLED,                     /* the same places, of which others are the first */
	AXIS_SHIFTED,                    /* all by the same offset */
	AXIS_OTHER                       /* other places, or another number of them */
};
struct axis_relation_of {
	enum axis_relation relation;
	int64_t roll;                    /* place i of y is place (i + roll) mod n of x */
	double offset;                   /* of y from x */
};
/* Coordinates are the same within a thousandth of x's smallest spacing, or what rounding to float
 * may change; longitude: 360 degrees are a whole turn. */
struct axis_relation_of axis_relate(const struct axis *x, const struct axis *y, bool longitude);
/* By its units and standard_name; where these do not say, by its name. */
bool axis_is_longitude(const struct axis *x);
/* The attribute's text, or NULL. */
const char *axis_text(const struct axis *x, const char *name);
/* Appends "lat 90 ... -90 degrees_north (5 of them)". */
void axis_describe(const struct axis *x, struct buf *out);
/* Appends how y differs from x, after "are ": "in reversed order", "rolled by 4 of 8", ... */
void axis_relation_describe(struct axis_relation_of r, const struct axis *x, struct buf *out);

#endif
