/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Examines the axes and values of a column's files: finds the axis that counts samples, and
 * compares each file with the first. A file whose axes are in another order is read in the first
 * file's order; a contradiction is an error that shows both files' values. */
#include <string.h>

#include "data-tools/convert/side/axis_meet.h"
#include "data-tools/convert/side/axis_role.h"
#include "base/err.h"
#include "base/log.h"
#include "base/shown.h"
#include "data-tools/convert/column.h"
#include "data/axes_match.h"
#include "data-tools/convert/side/place_meet.h"
#include "data-tools/source/source.h"
#include "data-tools/convert/side/unit_relation.h"

void column_look(struct column *c)
{
	struct column_file *of = &c->of[c->open_file];
	struct source *s = c->source;
	struct arena *scratch = arena_new();
	struct axis *axis = ARENA_ARRAY(scratch, struct axis, MAXD);
	struct axes said = { 0 };
	for (int i = 0; i < s->shape.nd; i++) {
		axis[i] = source_axis(s, i, scratch);
		of->role[i] = axis_role(&axis[i], s->kind[i]);
	}
	source_place(s, c->variable, scratch, &said);
	said.n = s->shape.nd;
	said.axis = axis;
	of->axes = axes_copy_thrifty(c->a, &said, c->open_file > 0 ? &c->of[0].axes : NULL);
	arena_free(scratch);
	of->view = source_view_plain(&s->shape);
	of->units = source_text(s, "units", c->a);
}

bool column_says_axes(const struct column *c)
{
	bool more = !c->source->format->picture;
	for (int i = 0; i < c->source->shape.nd; i++)
		more |= c->source->kind[i] != 0;
	return c->source->format->coordinates && more;
}

bool column_is_known(const struct column *c)
{
	for (int f = 0; f < c->nfiles; f++)
		if (c->of[f].axes.n == 0)
			return false;
	return true;
}

/* --- changing how a file is read --- */

void column_permute(struct column *c, int f, const int *order)
{
	struct column_file *of = &c->of[f];
	const struct column_file old = *of;
	struct axis *axis = ARENA_ARRAY(c->a, struct axis, MAXD);
	struct axis_field *field = ARENA_ARRAY(c->a, struct axis_field, old.axes.nfields + 1);
	int to[MAXD];
	source_view_permute(&of->view, order);
	for (int i = 0; i < of->axes.n; i++) {
		axis[i] = old.axes.axis[order[i]];
		of->role[i] = old.role[order[i]];
		to[order[i]] = i;
	}
	for (int k = 0; k < old.axes.nfields; k++) {
		field[k] = old.axes.field[k];
		for (int i = 0; i < field[k].nd; i++)
			field[k].on[i] = to[field[k].on[i]];
	}
	of->axes.axis = axis;
	of->axes.field = field;
}

static void put_axis(struct column *c, int f, int i, const struct axis *x)
{
	struct axes *axes = &c->of[f].axes;
	struct axis *axis = ARENA_ARRAY(c->a, struct axis, MAXD);
	for (int k = 0; k < axes->n; k++)
		axis[k] = k == i ? *x : axes->axis[k];
	axes->axis = axis;
}

/* Coordinates on an axis that is read in another order are not kept. */
static void drop_fields(struct column *c, int f, int axis)
{
	struct axes *axes = &c->of[f].axes;
	struct axis_field *field = ARENA_ARRAY(c->a, struct axis_field, axes->nfields + 1);
	int n = 0;
	for (int k = 0; k < axes->nfields; k++) {
		bool on = false;

		for (int i = 0; i < axes->field[k].nd; i++)
			on |= axes->field[k].on[i] == axis;
		if (!on)
			field[n++] = axes->field[k];
	}
	axes->nfields = n;
	axes->field = field;
}

void column_choose(struct column *c, int f, int axis, const int64_t *element, int64_t n)
{
	struct axis x = c->of[f].axes.axis[axis];
	double *v = ARENA_ARRAY(c->a, double, n + 1);
	for (int64_t i = 0; x.values && i < n; i++)
		v[i] = x.values[element[i]];
	x.values = x.values ? v : NULL;
	x.n = n;
	source_view_choose(&c->of[f].view, c->a, axis, element, n);
	put_axis(c, f, axis, &x);
	drop_fields(c, f, axis);
}

const int64_t *column_backwards(struct arena *a, int64_t n)
{
	int64_t *element = ARENA_ARRAY(a, int64_t, n + 1);
	for (int64_t i = 0; i < n; i++)
		element[i] = n - 1 - i;
	return element;
}

/* --- messages --- */

/* "(time, lat, lon)" */
static void put_names(struct buf *out, const struct column_file *of)
{
	for (int i = 0; i < of->axes.n; i++) {
		const char *name = of->axes.axis[i].name;

		buf_printf(out, "%s%s", i ? ", " : "(", name ? name : "?");
	}
	buf_puts(out, of->axes.n == 1 ? ",)" : ")");
}

static void say_turned(struct column *c, const char *what, const struct axis *x)
{
	if (!c->turned)
		warn("%s '%s': '%s' has %s%s, and is read as '%s' has it", c->o->role, shown(c->name),
		     shown(c->file[c->open_file]), x ? shown(x->name) : "its axes", what,
		     shown(c->file[0]));
	c->turned = true;
}

/* The error for an axis of the open file that contradicts the first's. */
static int contradiction(const struct column *c, int i, const char *why)
{
	const struct axis *want = &c->of[0].axes.axis[i],
	                  *got = &c->of[c->open_file].axes.axis[i];
	struct buf text = BUF_INIT;
	int rc;
	axis_describe(got, &text);
	buf_puts(&text, ", but ");
	axis_describe(want, &text);
	rc = ERR(E_DATA, NULL, "'%s', '%s': %s: %s in '%s' (--match index: the order counts, whatever "
	         "the coordinates are)", c->file[c->open_file], c->name, why, text.data, c->file[0]);
	buf_release(&text);
	return rc;
}

/* --- which axis counts samples --- */

static int refuse_first(const struct column *c, const char *why)
{
	const struct column_file *of = &c->of[0];
	struct buf text = BUF_INIT;
	int rc;
	put_names(&text, of);
	rc = ERR(E_DATA, NULL, "'%s', '%s' is %s: the first axis counts samples, but it is %s, %s",
	         c->file[0], c->source->name, text.data, axis_role_name(of->role[0]), why);
	buf_release(&text);
	return rc;
}

static void bring_first(struct column *c, int axis)
{
	struct column_file *of = &c->of[0];
	int order[MAXD] = { axis };
	struct buf text = BUF_INIT, read = BUF_INIT;
	for (int i = 0, k = 1; i < of->axes.n; i++)
		if (i != axis)
			order[k++] = i;
	put_names(&text, of);
	column_permute(c, 0, order);
	put_names(&read, of);
	if (!c->o->quiet)
		note("%s '%s' is %s, and is read as %s: samples are counted by time", c->o->role,
		     shown(c->source->name), text.data, read.data);
	buf_release(&text);
	buf_release(&read);
}

static int one_sample(struct column *c)
{
	struct buf text = BUF_INIT;
	if (c->o->concatenate && c->nfiles > 1)
		return refuse_first(c, "and there is no axis of samples; without --concatenate each file "
		                    "is one sample, and with --match index the first axis counts them");
	put_names(&text, &c->of[0]);
	if (!c->o->quiet)
		note("%s '%s' is %s: the file is one sample", c->o->role, shown(c->source->name),
		     text.data);
	buf_release(&text);
	c->file_a_sample = true;
	return 0;
}

int column_find_samples(struct column *c)
{
	const struct column_file *of = &c->of[0];
	int times = 0, unknown = 0, time = -1;
	if (c->file_a_sample || c->source->format->rows || c->source->format->picture ||
	    c->o->match == MATCH_INDEX || of->axes.n == 0)
		return 0;
	for (int i = 0; i < of->axes.n; i++) {
		if (of->role[i] == 'T')
			time = times++ ? time : i;
		unknown += of->role[i] == 0;
	}
	if (of->role[0] == 'T' || of->role[0] == 0)
		return 0;
	if (times == 1) {
		bring_first(c, time);
		return 0;
	}
	if (times > 1 || unknown)
		return refuse_first(c, "and another one may be meant: write that first (as 'ncpdq -a' or "
		                    "xarray's transpose do), or say --match index");
	return one_sample(c);
}

/* --- each file against the first --- */

static int find_partner(const struct column_file *got, const struct column_file *want, int i,
                        unsigned used)
{
	const char *name = want->axes.axis[i].name;
	for (int k = 0; k < got->axes.n; k++) {
		const char *other = got->axes.axis[k].name;

		if (!(used >> k & 1) && name && other && strcmp(name, other) == 0)
			return k;
	}
	for (int k = 0; k < got->axes.n; k++)
		if (!(used >> k & 1) && want->role[i] && want->role[i] == got->role[k])
			return k;
	return -1;
}

/* Where all axes have partners: in another order, the file is read in the first's. */
static bool turn_axes(struct column *c, int f)
{
	const struct column_file *want = &c->of[0], *got = &c->of[f];
	int order[MAXD];
	unsigned used = 0;
	bool same = true;
	struct buf text = BUF_INIT;
	for (int i = 0; i < want->axes.n; i++) {
		order[i] = find_partner(got, want, i, used);
		if (order[i] < 0)
			return false;
		used |= 1u << order[i];
		same &= order[i] == i;
	}
	if (same)
		return true;
	buf_putc(&text, ' ');
	put_names(&text, got);
	buf_puts(&text, " in place of ");
	put_names(&text, want);
	column_permute(c, f, order);
	say_turned(c, text.data, NULL);
	buf_release(&text);
	return true;
}

/* The names that HDF5's readers give to axes without one. */
static bool is_made_up(const char *name)
{
	return !name || strncmp(name, "phony_dim_", 10) == 0;
}

static int check_names(const struct column *c, int f)
{
	const struct column_file *want = &c->of[0], *got = &c->of[f];
	for (int i = 0; i < want->axes.n; i++) {
		const char *x = want->axes.axis[i].name, *y = got->axes.axis[i].name;
		const bool other = !is_made_up(x) && !is_made_up(y) && strcmp(x, y) != 0;

		if (other && (want->role[i] != got->role[i] || !want->role[i]))
			return contradiction(c, i, "its axes are others");
	}
	return 0;
}

/* Axis i of places of the open file as the first has it. */
static int meet_places(struct column *c, int f, int i)
{
	const struct axis *want = &c->of[0].axes.axis[i], *got = &c->of[f].axes.axis[i];
	const struct axis_meeting m = axis_meet(c->a, want, got, c->of[0].role[i]);
	const int64_t n = got->n;
	const bool turned = axis_direction(want) * axis_direction(got) < 0;
	if (m.order == ORDER_UNITS)
		return contradiction(c, i, "other units, calendar or direction");
	if (m.element) {
		column_choose(c, f, i, m.element, n);
		say_turned(c, m.order == ORDER_REVERSED ? " the other way round" :
		           m.order == ORDER_ROLLED ? " beginning at another place" : " in another order",
		           want);
	}
	if (m.element || m.order == ORDER_SAME) {
		put_axis(c, f, i, want);
		return 0;
	}
	if (m.order == ORDER_UNKNOWN)
		return 0;
	if (!c->file_a_sample)
		return contradiction(c, i, m.order == ORDER_SYSTEM ? "another reference system" :
		                     "other places");
	if (turned) {
		column_choose(c, f, i, column_backwards(c->a, n), n);
		say_turned(c, " the other way round", want);
	} else if (want->n == got->n && !c->places_differ && !c->source->format->picture) {
		struct buf text = BUF_INIT;

		axis_describe(got, &text);
		buf_printf(&text, "; '%s' has ", shown(c->file[0]));
		axis_describe(want, &text);
		warn("%s '%s': samples of several places: '%s' has %s", c->o->role, shown(c->name),
		     shown(c->file[f]), text.data);
		buf_release(&text);
		c->places_differ = true;
	}
	return 0;
}

/* The fields that the first file has of the same places: its rounding of them, and what was dropped
 * with the order of an axis. */
static void take_fields(struct column *c, int f)
{
	const struct axes *first = &c->of[0].axes;
	struct axes *axes = &c->of[f].axes;
	struct axis_field *field = ARENA_ARRAY(c->a, struct axis_field,
	                                       first->nfields + axes->nfields + 1);
	int n = 0;
	for (int k = 0; k < first->nfields; k++)
		if (first->field[k].nd == 2 && (c->file_a_sample || first->field[k].on[0] > 0))
			field[n++] = first->field[k];
	for (int k = 0; k < axes->nfields; k++) {
		int i = 0;

		while (i < n && strcmp(field[i].name, axes->field[k].name) != 0)
			i++;
		if (i == n)
			field[n++] = axes->field[k];
	}
	axes->field = field;
	axes->nfields = n;
}

/* Latitudes and longitudes that lie on two axes, and projections. Of files that are a sample each,
 * samples may be of several places. */
static int meet_grids(struct column *c, int f)
{
	const struct axes *want = &c->of[0].axes, *got = &c->of[f].axes;
	const char *const file[] = { c->file[0], c->file[f] };
	int partner[MAXD], rc = 0;
	unsigned reversed = 0;
	enum place_order order;
	struct buf text = BUF_INIT;
	for (int i = 0; i < MAXD; i++)
		partner[i] = i;
	if (!c->file_a_sample && !place_same_projection(want, got, file, &text)) {
		rc = ERR(E_DATA, NULL, "'%s', '%s': another projection: %s", c->file[f], c->name,
		         text.data);
		buf_release(&text);
		return rc;
	}
	order = place_meet(want, got, partner, file, &reversed, &text);
	if (order == PLACES_OTHER && !c->file_a_sample)
		rc = ERR(E_DATA, NULL, "'%s', '%s': other places: %s (--match index: the order counts, "
		         "whatever the coordinates are)", c->file[f], c->name, text.data);
	buf_release(&text);
	for (int i = 0; i < want->n; i++)
		if (reversed >> i & 1) {
			column_choose(c, f, i, column_backwards(c->a, got->axis[i].n), got->axis[i].n);
			say_turned(c, " the other way round", &want->axis[i]);
		}
	if (order == PLACES_SAME || order == PLACES_REVERSED)
		take_fields(c, f);
	return rc;
}

/* The coordinates of samples in the units of the first file's. */
static int meet_samples(struct column *c, int f)
{
	const struct axis *want = &c->of[0].axes.axis[0];
	struct axis x = c->of[f].axes.axis[0];
	const double *v = want->values && x.values ? axis_in_units_of(c->a, want, &x) : NULL;
	if (want->values && x.values && !v)
		return contradiction(c, 0, "other units, calendar or direction");
	if (v) {
		x.values = v;
		x.attribute = want->attribute;
		x.nattributes = want->nattributes;
		put_axis(c, f, 0, &x);
	}
	return 0;
}

static int meet_units(const struct column *c, int f)
{
	const char *want = c->of[0].units, *got = c->of[f].units;
	double factor, offset;
	if (units_relate(got, want, &factor, &offset) == UNITS_SAME)
		return 0;
	return ERR(E_DATA, NULL, "'%s': '%s' is in %s, but in %s in '%s'; convert one of them first, "
	           "or convert the files apart", c->file[f], c->name, got, want, c->file[0]);
}

int column_meet_first(struct column *c)
{
	const int f = c->open_file;
	const struct column_file *want = &c->of[0], *got = &c->of[f];
	TRY(meet_units(c, f));
	if (c->o->match == MATCH_INDEX || want->axes.n != got->axes.n)
		return 0;
	if (!turn_axes(c, f))
		TRY(check_names(c, f));
	for (int i = !c->file_a_sample; i < want->axes.n; i++)
		if (want->role[i] != 'C' && want->role[i] != 'T')
			TRY(meet_places(c, f, i));
	TRY(meet_grids(c, f));
	return c->file_a_sample ? 0 : meet_samples(c, f);
}
