/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Units of variables and coordinates, by UDUNITS, and points in time by the calendars of CF. */
#ifndef DLX_DATA_TOOLS_UNIT_RELATION_H
#define DLX_DATA_TOOLS_UNIT_RELATION_H

#include <stdbool.h>

enum units_relation {
	UNITS_SAME,            /* the same unit, perhaps written in another way: K and kelvin */
	UNITS_LINEAR,          /* others, of which one can be computed from the other: K and degC */
	UNITS_OTHER            /* others, or texts that say no unit */
};
/* How values in `from` become such in `to`: value * factor + offset. Texts as files have them; NULL
 * or "": not said, which is the same as anything. One thread at a time. */
enum units_relation units_relate(const char *from, const char *to, double *factor, double *offset);

/* "days since 2000-01-01" in a calendar (NULL: CF's standard one) as seconds from one point in
 * time, which is the same for all units of a calendar: value * factor + offset. false: no such
 * unit. */
bool units_time(const char *units, const char *calendar, double *factor, double *offset);
/* Whether dates of both calendars (NULL: standard) are the same. */
bool units_same_calendar(const char *x, const char *y);

#endif
