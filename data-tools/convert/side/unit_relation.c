/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/convert/side/unit_relation.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config.h"
#include "data/units.h"

#ifdef HAVE_UDUNITS
#include <udunits2.h>
#endif

/* --- units --- */

#ifdef HAVE_UDUNITS

/* The data base of units is read once, where two texts differ. NULL: it is not there. */
static ut_system *system_of_units(void)
{
	static ut_system *units;
	static bool tried;
	if (!tried) {
		ut_set_error_message_handler(ut_ignore);
		units = ut_read_xml(NULL);
		tried = true;
	}
	return units;
}

static enum units_relation convert(ut_unit *from, ut_unit *to, double *factor, double *offset)
{
	enum units_relation r = UNITS_OTHER;
	cv_converter *c = from && to && ut_are_convertible(from, to) ? ut_get_converter(from,
	                                                                                to) : NULL;
	if (c) {
		*offset = cv_convert_double(c, 0);
		*factor = cv_convert_double(c, 1) - *offset;
		r = *offset == 0 && fabs(*factor - 1) < 1e-12 ? UNITS_SAME : UNITS_LINEAR;
		/* a logarithm or a reciprocal is no line */
		if (fabs(cv_convert_double(c, 2) - 2 * *factor - *offset) > 1e-9 * fabs(*factor))
			r = UNITS_OTHER;
		cv_free(c);
	}
	return r;
}

static enum units_relation relate(const char *from, const char *to, double *factor, double *offset)
{
	ut_system *units = system_of_units();
	ut_unit *x = units ? ut_parse(units, from, UT_UTF8) : NULL,
	        *y = units ? ut_parse(units, to, UT_UTF8) : NULL;
	const enum units_relation r = convert(x, y, factor, offset);
	ut_free(x);
	ut_free(y);
	return r;
}
#else
/* Of times alone. */
static enum units_relation relate(const char *from, const char *to, double *factor, double *offset)
{
	static const struct { const char *name; double seconds; } known[] = {
		{ "second", 1 }, { "seconds", 1 }, { "s", 1 }, { "minute", 60 }, { "minutes", 60 },
		{ "hour", 3600 }, { "hours", 3600 }, { "h", 3600 }, { "day", 86400 }, { "days", 86400 },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcasecmp(from, known[i].name) == 0 && strcmp(to, "seconds") == 0) {
			*factor = known[i].seconds;
			return *factor == 1 ? UNITS_SAME : UNITS_LINEAR;
		}
	(void)offset;
	return UNITS_OTHER;
}
#endif

enum units_relation units_relate(const char *from, const char *to, double *factor, double *offset)
{
	*factor = 1;
	*offset = 0;
	if (!from || !to || !*from || !*to || units_same(from, to))
		return UNITS_SAME;
	return relate(from, to, factor, offset);
}

/* --- time --- */

enum calendar { MIXED, GREGORIAN, JULIAN, DAYS_360, DAYS_365, DAYS_366, CALENDARS };

static const struct { const char *name; enum calendar is; } calendars[] = {
	{ "standard", MIXED }, { "gregorian", MIXED }, { "proleptic_gregorian", GREGORIAN },
	{ "julian", JULIAN }, { "360_day", DAYS_360 }, { "noleap", DAYS_365 },
	{ "365_day", DAYS_365 }, { "all_leap", DAYS_366 }, { "366_day", DAYS_366 },
};

static enum calendar find_calendar(const char *name)
{
	for (size_t i = 0; name && i < sizeof calendars / sizeof *calendars; i++)
		if (strcasecmp(name, calendars[i].name) == 0)
			return calendars[i].is;
	return name && *name ? CALENDARS : MIXED;
}

bool units_same_calendar(const char *x, const char *y)
{
	const enum calendar a = find_calendar(x), b = find_calendar(y);
	/* they differ before 1582 alone */
	if ((a == MIXED || a == GREGORIAN) && (b == MIXED || b == GREGORIAN))
		return true;
	return a == b && (a != CALENDARS || strcasecmp(x, y) == 0);
}

/* The days before this month of a year of 365 days, or of 366. */
static int64_t days_before(int month, bool leap)
{
	static const int days[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };

	return days[month - 1] + (leap && month > 2);
}

static int64_t quotient(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Days from the first of January of the year 0; of the Gregorian calendar and of the mixed one from
 * 1582 on they are the same number. */
static int64_t day_number(enum calendar c, int64_t year, int month, int day)
{
	const int64_t before = year - 1;
	const bool old = year < 1582 || (year == 1582 && (month < 10 || (month == 10 && day < 15)));
	if (c == DAYS_360)
		return 360 * year + 30 * (month - 1) + day - 1;
	if (c == DAYS_365 || c == DAYS_366)
		return (c == DAYS_365 ? 365 : 366) * year + days_before(month, c == DAYS_366) + day - 1;
	if (c == JULIAN || (c == MIXED && old))
		return 365 * year + quotient(before, 4) - 2 + days_before(month, year % 4 == 0) + day - 1;
	return 365 * year + quotient(before, 4) - quotient(before, 100) + quotient(before, 400) +
	       days_before(month, year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)) + day - 1;
}

/* "2000-01-01 12:00:00 +1:30" */
static bool read_date(const char *text, enum calendar c, double *seconds)
{
	int month = 1, day = 1, hour = 0, minute = 0, n = 0, zone_hour = 0, zone_minute = 0;
	long long year;
	double second = 0;
	char sign = 0;
	if (sscanf(text, "%lld-%d-%d%n", &year, &month, &day, &n) < 3 || month < 1 || month > 12 ||
	    day < 1 || day > 31)
		return false;
	text += n;
	text += *text == 'T';
	if (sscanf(text, "%d:%d%n:%lf%n", &hour, &minute, &n, &second, &n) >= 2)
		text += n;
	if (sscanf(text, " %c%d:%d", &sign, &zone_hour, &zone_minute) >= 2 &&
	    (sign == '+' || sign == '-')) {
		hour -= sign == '-' ? -zone_hour : zone_hour;
		minute -= sign == '-' ? -zone_minute : zone_minute;
	}
	*seconds = 86400.0 * (double)day_number(c, year, month, day) + 3600.0 * hour + 60.0 * minute +
	           second;
	return true;
}

bool units_time(const char *units, const char *calendar, double *factor, double *offset)
{
	const char *since = units ? strstr(units, " since ") : NULL;
	const enum calendar c = find_calendar(calendar);
	char unit[64];
	double zero;
	if (!since || c == CALENDARS || (size_t)(since - units) >= sizeof unit)
		return false;
	memcpy(unit, units, (size_t)(since - units));
	unit[since - units] = '\0';
	return units_relate(unit, "seconds", factor, &zero) != UNITS_OTHER && zero == 0 &&
	       read_date(since + strlen(" since "), c, offset);
}
