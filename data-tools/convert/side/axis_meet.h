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
	ORDER_ROLLED,         /* cyclically shifted, as longitudes from 0 and from -180 */
	ORDER_REORDERED,      /* the same values in another order */
	ORDER_SHIFTED,        /* all values differ by the same number */
	ORDER_OTHER,          /* other values, or another number of values */
	ORDER_SYSTEM,         /* coordinates in another reference system */
	ORDER_UNITS           /* units or calendars that cannot be converted, or one is positive upwards
	                       * and the other downwards */
};

struct axis_meeting {
	enum axis_order order;
	const int64_t *element;      /* ORDER_REVERSED, _ROLLED, _REORDERED: for each element of `want`,
	                              * the index of the equal element of `got`. In the arena */
	double shift;                /* ORDER_SHIFTED: the difference, in units of `want`; for times
	                              * with a date in seconds */
};

/* Compares two axes. role: that of both (axis_role.h). */
struct axis_meeting axis_meet(struct arena *a, const struct axis *want, const struct axis *got,
                              char role);
/* Finds the elements with values that both axes have, in the order of `want`, and returns their
 * number. The tables have room for all elements of `want`, and are in arena a. -1: the units cannot
 * be compared. */
int64_t axis_join(struct arena *a, const struct axis *want, const struct axis *got, char role,
                  const int64_t **of_want, const int64_t **of_got);
/* The coordinates of `got`, converted to the units of `want`; NULL: there are none, or the units
 * cannot be converted. */
const double *axis_in_units_of(struct arena *a, const struct axis *want, const struct axis *got);
/* The sign of the step of at least two rising or falling coordinates; else 0. */
int axis_direction(const struct axis *x);
#endif
