/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the source files say of the axes of a side's samples. */
#include "base/arena.h"
#include "side_state.h"

/* The chosen ones of an axis of samples. */
static struct axis choose_samples(struct arena *a, const struct column *c, const struct axis *all,
                                  const int64_t *sample, int64_t n)
{
	struct axis out = *all;
	double *v = ARENA_ARRAY(a, double, n + 1);
	out.n = n;
	for (int64_t i = 0; all->values && i < n; i++)
		v[i] = all->values[c->pick ? c->pick[sample[i]] : sample[i]];
	out.values = all->values ? v : NULL;
	return out;
}

/* What a file says, whose samples are its first axis or which is one. */
static struct axes file_axes(const struct side *s, const struct column *c, int f, struct arena *a)
{
	struct axis *out = ARENA_ARRAY(a, struct axis, MAXD + 1);
	const struct axis *axis = c->of[f].axes.axis;
	const int first = c->file_a_sample ? 0 : 1, last = c->sample.nd - 1,
	          channels = s->placed == LAYOUT_FIRST ? 0 : s->placed == LAYOUT_LAST ? last : -1;
	struct axes axes = { 1, out };
	out[0] = c->file_a_sample ? (struct axis){ .n = 1 } : axis[0];
	for (int i = 0; i <= last; i++)
		if (i != channels)
			out[axes.n++] = axis[first + i];
	return axes;
}

static bool says_anything(const struct axes *axes)
{
	for (int k = 0; k < axes->n; k++)
		if (axes->axis[k].name)
			return true;
	return false;
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
	struct axis *chosen;
	*out = (struct axes){ 0 };
	if (c->repeated || !column_says_axes(c) || !column_is_known(c))
		return 0;
	*out = column_axes(s, c, a);
	if (out->n == 0 || !says_anything(out))
		return 0;
	chosen = ARENA_ARRAY(a, struct axis, out->n);
	for (int k = 0; k < out->n; k++)
		chosen[k] = out->axis[k];
	chosen[0] = choose_samples(a, c, &out->axis[0], sample, n);
	out->axis = chosen;
	return 0;
}
