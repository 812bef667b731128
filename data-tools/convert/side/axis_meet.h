/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares the coordinates of two axes: whether the same places or times are in them, and in which
 * order. */
#ifndef DLX_DATA_TOOLS_AXIS_MEET_H
#define DLX_DATA_TOOLS_AXIS_MEET_H

#include "data/axes.h"

enum axis_order {
	ORDER_UNKNOWN,        /* one of them has no coordinates */
	ORDER_SAME,           /* element by element, within 1e-3 of the spacing */
	ORDER_REVERSED,
	ORDER_ROLLED,         /* another element comes first, as of longitudes from 0 and from -180 */
	ORDER_REORDERED,      /* the same values in another order */
	ORDER_SHIFTED,        /* all are farther by one number */
	ORDER_OTHER,          /* other values, or another number of them */
	ORDER_SYSTEM,         /* coordinates in another reference system */
	ORDER_UNITS           /* units of which one cannot be computed from the other, calendars, or
	                      * one positive upwards and one downwards */
};

struct axis_meeting {
	enum axis_order order;
	const int64_t *element;      /* of REVERSED, ROLLED, REORDERED: of each value that is wanted,
		the
	                              * element of the other axis. In the arena */
	double shift;                /* of SHIFTED, in units of the wanted one; of times with a date in
	                              * seconds */
};

/* role: of both (axis_role.h). */
struct axis_meeting axis_meet(struct arena *a, const struct axis *want, const struct axis *got,
                              char role);
/* The elements of both that have the same values, in the order of `want`; returns how many. Tables
 * of as many as `want` has, in a. -1: units that cannot be compared. */
int64_t axis_join(struct arena *a, const struct axis *want, const struct axis *got, char role,
                  const int64_t **of_want, const int64_t **of_got);
/* The coordinates of `got` in the units of `want`; NULL: there are none, or the units cannot be
 * compared. */
const double *axis_in_units_of(struct arena *a, const struct axis *want, const struct axis *got);
/* The sign of the step of at least two rising or falling coordinates; else 0. */
int axis_direction(const struct axis *x);
#endif
