/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Grids with different extents have different positions; only their directions can be compared. */
#include "data/axes_agree.h"

#include <math.h>
#include <string.h>

#include "base/shown.h"
#include "data/axes_match.h"

static void put_readings(const struct axis *x, const struct axis *y, struct buf *out)
{
	buf_puts(out, ": ");
	axis_describe(y, out);
	buf_puts(out, ", not ");
	axis_describe(x, out);
}

static void put_name(const struct axis *x, const struct axis *y, struct buf *out)
{
	const char *name = y->name ? y->name : x->name;
	buf_puts(out, name ? "the axis '" : "an axis");
	if (name) {
		buf_shown(out, name);
		buf_putc(out, '\'');
	}
}

/* --- the order of axes --- */

static bool same_name(const struct axis *x, const struct axis *y)
{
	return x->name && y->name && strcmp(x->name, y->name) == 0;
}

/* Whether axis k of y matches a different axis of x. */
static bool is_moved(const struct axes *x, const struct axes *y, int k)
{
	bool found = false;
	for (int j = 1; j < x->n; j++)
		found |= j != k && same_name(&x->axis[j], &y->axis[k]);
	return found && !same_name(&x->axis[k], &y->axis[k]);
}

static void put_names(const struct axes *axes, struct buf *out)
{
	for (int k = 1; k < axes->n; k++) {
		buf_puts(out, k > 1 ? ", " : "");
		buf_shown(out, axes->axis[k].name ? axes->axis[k].name : "?");
	}
}

static bool is_transposed(const struct axes *x, const struct axes *y, struct buf *out)
{
	bool moved = false;
	for (int k = 1; k < x->n; k++)
		moved |= is_moved(x, y, k);
	if (!moved)
		return false;
	buf_puts(out, "the axes are transposed: ");
	put_names(y, out);
	buf_puts(out, ", not ");
	put_names(x, out);
	return true;
}

/* --- one axis --- */

/* The direction: 1 ascending, -1 descending, 0 unknown. */
static int direction(const struct axis *x, bool longitude)
{
	double step = 0;
	if (!x->values || x->n < 2)
		return 0;
	step = x->values[1] - x->values[0];
	if (longitude)
		step = remainder(step, 360);
	return (step > 0) - (step < 0);
}

static enum axes_agreement compare(const struct axis *x, const struct axis *y, struct buf *out)
{
	const bool longitude = axis_is_longitude(x) || axis_is_longitude(y);
	const struct axis_relation_of r = axis_relate(x, y, longitude);
	const bool turned = r.relation == AXIS_REVERSED || r.relation == AXIS_ROLLED,
	           other_way = direction(x, longitude) * direction(y, longitude) < 0;
	if (r.relation == AXIS_UNKNOWN_RELATION || r.relation == AXIS_SAME ||
	    (x->n != y->n && !other_way))
		return AXES_AGREE;
	put_name(x, y, out);
	if (turned || !other_way) {
		buf_puts(out, turned ? " is " : " has coordinates that are ");
		axis_relation_describe(r, x, out);
	} else {
		buf_puts(out, " runs the other way");
	}
	put_readings(x, y, out);
	return turned ? AXES_TURNED : other_way ? AXES_OTHER_WAY : AXES_ELSEWHERE;
}

enum axes_agreement axes_agree(const struct axes *x, const struct axes *y, struct buf *out)
{
	enum axes_agreement all = AXES_AGREE;
	if (x->n != y->n || x->n == 0)
		return AXES_AGREE;
	if (is_transposed(x, y, out))
		return AXES_TURNED;
	for (int k = 1; k < x->n && all != AXES_TURNED; k++) {
		struct buf one = BUF_INIT;
		const enum axes_agreement this = compare(&x->axis[k], &y->axis[k], &one);

		if (this > all) {
			buf_clear(out);
			buf_puts(out, one.data);
			all = this;
		}
		buf_release(&one);
	}
	return all;
}
