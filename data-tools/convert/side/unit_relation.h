/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares units of variables and coordinates, with UDUNITS, and converts times in the calendars of
 * CF. */
#ifndef DLX_DATA_TOOLS_UNIT_RELATION_H
#define DLX_DATA_TOOLS_UNIT_RELATION_H

#include <stdbool.h>

enum units_relation {
	UNITS_SAME,            /* the same unit, possibly written differently: K and kelvin */
	UNITS_LINEAR,          /* different units with a linear conversion: K and degC */
	UNITS_OTHER            /* units that cannot be converted, or texts that are not units */
};
/* Finds the conversion of values from unit `from` to unit `to`: value * factor + offset. NULL or
 * "": the unit is not given, and is assumed to be the same. Only one thread at a time may call
 * it. */
enum units_relation units_relate(const char *from, const char *to, double *factor, double *offset);

/* Finds the conversion of a unit like "days since 2000-01-01" to seconds: value * factor + offset.
 * The seconds count from a point in time that is the same for all units of a calendar (NULL: CF's
 * standard one). false: it is not such a unit. */
bool units_time(const char *units, const char *calendar, double *factor, double *offset);
/* Whether both calendars (NULL: standard) have the same dates. */
bool units_same_calendar(const char *x, const char *y);

#endif
