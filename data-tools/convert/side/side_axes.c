/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collects the source files' descriptions of the axes of a side's samples. */
#include "base/arena.h"
#include "data-tools/convert/side/side_state.h"

/* The fields of a source on the set's axes; to: of each axis of the source, the set's, or -1. */
static void take_fields(const struct axes *place, const int *to, struct arena *a, struct axes *out)
{
	struct axis_field *v = ARENA_ARRAY(a, struct axis_field, place->nfields + 1);
	out->field = v;
	for (int k = 0; k < place->nfields; k++) {
		struct axis_field *f = &v[out->nfields];
		bool kept = true;

		*f = place->field[k];
		for (int i = 0; i < f->nd; i++) {
			f->on[i] = to[f->on[i]];
			kept &= f->on[i] >= 0;
		}
		out->nfields += kept;
	}
}

/* What a file says, whose samples are its first axis or which is one. */
static struct axes file_axes(const struct side *s, const struct column *c, int f, struct arena *a)
{
	struct axis *out = ARENA_ARRAY(a, struct axis, MAXD + 1);
	const struct axes *all = &c->of[f].axes;
	const int first = c->file_a_sample ? 0 : 1, last = c->sample.nd - 1,
	          channels = s->placed == LAYOUT_FIRST ? 0 : s->placed == LAYOUT_LAST ? last : -1;
	struct axes axes = { .n = 1, .axis = out };
	int to[MAXD] = { 0 };
	out[0] = c->file_a_sample ? (struct axis){ .n = 1 } : all->axis[0];
	for (int i = 0; i <= last; i++) {
		to[first + i] = i == channels ? -1 : axes.n;
		if (i != channels)
			out[axes.n++] = all->axis[first + i];
	}
	take_fields(all, to, a, &axes);
	axes.grid_mapping = all->grid_mapping;
	axes.nmappings = all->nmappings;
	axes.mapping = all->mapping;
	return axes;
}

/* Of all its files. */
static struct axes column_axes(const struct side *s, const struct column *c, struct arena *a)
{
	struct axes *of = ARENA_ARRAY(a, struct axes, c->nfiles + 1);
	for (int f = 0; f < c->nfiles; f++)
		of[f] = file_axes(s, c, f, a);
	return axes_join(a, of, c->nfiles);
}

int side_axes(struct side *s, struct arena *a, const int64_t *sample, int64_t n, struct axes *out)
{
	const struct column *c = side_first_moving(s);
	int64_t *stored = ARENA_ARRAY(a, int64_t, n + 1);
	*out = (struct axes){ 0 };
	if (c->repeated || !column_says_axes(c) || !column_is_known(c))
		return 0;
	*out = column_axes(s, c, a);
	for (int64_t i = 0; i < n; i++)
		stored[i] = c->pick ? c->pick[sample[i]] : sample[i];
	if (axes_say_anything(out))
		*out = axes_choose(a, out, stored, n);
	return 0;
}
