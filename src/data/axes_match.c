/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/axes_match.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/shown.h"

#define SAME_SHARE 1e-3          /* of the spacing */
#define TURN 360.0

struct comparison {
	const struct axis *x, *y;
	bool longitude;
	double slack;
};

static bool has_numbers(const struct axis *x)
{
	for (int64_t i = 0; x->values && i < x->n; i++)
		if (!isfinite(x->values[i]))
			return false;
	return x->values;
}

/* Tolerance of a comparison. It includes the rounding of float32, but is never half of the
 * spacing. */
static double slack_of(const struct axis *x)
{
	double spacing = INFINITY, largest = 0;
	for (int64_t i = 0; i < x->n; i++) {
		largest = fmax(largest, fabs(x->values[i]));
		if (i > 0)
			spacing = fmin(spacing, fabs(x->values[i] - x->values[i - 1]));
	}
	return fmin(fmax(SAME_SHARE * (isfinite(spacing) ? spacing : 0), FLT_EPSILON * largest),
	            spacing / 4);
}

static double distance(const struct comparison *c, double a, double b)
{
	return c->longitude ? remainder(b - a, TURN) : b - a;
}

/* Whether place i of y is place from + step * i of x, plus the offset. */
static bool follows(const struct comparison *c, int64_t from, int64_t step, double offset)
{
	const int64_t n = c->x->n;
	for (int64_t i = 0; i < n; i++) {
		const double x = c->x->values[(from + step * i) % n];

		if (!(fabs(distance(c, x + offset, c->y->values[i])) <= c->slack))
			return false;
	}
	return true;
}

/* Coordinates of an axis do not repeat, so there is only one position of x that can be y's
 * first. */
static bool is_rolled(const struct comparison *c, int64_t *roll)
{
	for (*roll = 0; *roll < c->x->n; ++*roll)
		if (fabs(distance(c, c->x->values[*roll], c->y->values[0])) <= c->slack)
			return follows(c, *roll, 1, 0);
	return false;
}

struct axis_relation_of axis_relate(const struct axis *x, const struct axis *y, bool longitude)
{
	struct comparison c = { x, y, longitude, 0 };
	struct axis_relation_of out = { .relation = AXIS_OTHER };
	if (!has_numbers(x) || !has_numbers(y))
		return (struct axis_relation_of){ .relation = AXIS_UNKNOWN_RELATION };
	if (x->n != y->n || x->n < 1)
		return out;
	c.slack = slack_of(x);
	if (follows(&c, 0, 1, 0))
		return (struct axis_relation_of){ .relation = AXIS_SAME };
	if (follows(&c, x->n - 1, -1, 0))
		return (struct axis_relation_of){ .relation = AXIS_REVERSED };
	if (is_rolled(&c, &out.roll)) {
		out.relation = AXIS_ROLLED;
		return out;
	}
	out.roll = 0;
	out.offset = distance(&c, x->values[0], y->values[0]);
	if (follows(&c, 0, 1, out.offset))
		out.relation = AXIS_SHIFTED;
	else
		out.offset = 0;
	return out;
}

/* --- what an axis is --- */

const char *axis_text(const struct axis *x, const char *name)
{
	for (int i = 0; i < x->nattributes; i++)
		if (x->attribute[i].text && strcmp(x->attribute[i].name, name) == 0)
			return x->attribute[i].text;
	return NULL;
}

static bool is_one_of(const char *text, const char *const *words)
{
	for (; text && *words; words++)
		if (strcasecmp(text, *words) == 0)
			return true;
	return false;
}

bool axis_is_longitude(const struct axis *x)
{
	/* units that the CF conventions allow, and plain degrees */
	static const char *const east[] = { "degrees_east", "degree_east", "degree_E", "degrees_E",
		"degreeE", "degreesE", NULL },
		*const plain[] = { "degrees", "degree", "deg", "", NULL },
		*const names[] = { "lon", "longitude", "lons", "long", "longitudes", "nav_lon", "xlong",
		"xlong_m", "xlong_u", "xlong_v", "lon_rho", "lon_u", "lon_v", "lon_psi", NULL };
	const char *units = axis_text(x, "units"), *standard = axis_text(x, "standard_name");
	if (is_one_of(units, east))
		return !standard || strcasecmp(standard, "grid_longitude") == 0 ||
		       strcasecmp(standard, "longitude") == 0;
	if (units && !is_one_of(units, plain))
		return false;
	return standard ? strcasecmp(standard, "longitude") == 0 ||
	                  strcasecmp(standard, "grid_longitude") == 0 :
	                  is_one_of(x->name, names);
}

void axis_describe(const struct axis *x, struct buf *out)
{
	const char *units = axis_text(x, "units"), *calendar = axis_text(x, "calendar"),
	           *positive = axis_text(x, "positive"), *system = axis_text(x, "epsg");
	buf_shown(out, x->name ? x->name : "an axis without a name");
	if (x->values && x->n > 0)
		buf_printf(out, " %.10g", x->values[0]);
	if (x->values && x->n > 1)
		buf_printf(out, " ... %.10g", x->values[x->n - 1]);
	if (x->values && units && *units) {
		buf_putc(out, ' ');
		buf_shown(out, units);
	}
	if (x->values && positive && *positive) {
		buf_puts(out, " positive ");
		buf_shown(out, positive);
	}
	if (x->values && calendar && *calendar) {
		buf_puts(out, " in the calendar ");
		buf_shown(out, calendar);
	}
	if (x->values && system) {
		buf_puts(out, " in ");
		buf_shown(out, system);
	}
	buf_printf(out, " (%" PRId64 " of them)", x->n);
}

void axis_relation_describe(struct axis_relation_of r, const struct axis *x, struct buf *out)
{
	static const char *const words[] = {
		[AXIS_SAME] = "the same", [AXIS_UNKNOWN_RELATION] = "not known",
		[AXIS_REVERSED] = "in reversed order", [AXIS_ROLLED] = "rolled",
		[AXIS_SHIFTED] = "shifted", [AXIS_OTHER] = "other ones",
	};
	buf_puts(out, words[r.relation]);
	if (r.relation == AXIS_ROLLED)
		buf_printf(out, " by %" PRId64 " of %" PRId64, r.roll, x->n);
	if (r.relation == AXIS_SHIFTED)
		buf_printf(out, " by %.10g", r.offset);
}
