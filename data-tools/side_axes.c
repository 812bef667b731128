/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the source files say of the axes of a side's samples. */
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "side_state.h"

/* The chosen ones of an axis of samples. */
static struct axis choose_samples(struct arena *a, const struct axis *all, const int64_t *sample,
                                  int64_t n)
{
	struct axis out = *all;
	double *v = ARENA_ARRAY(a, double, n + 1);
	out.n = n;
	for (int64_t i = 0; all->values && i < n; i++)
		v[i] = all->values[sample[i]];
	out.values = all->values ? v : NULL;
	return out;
}

/* What the open file says, whose samples are its first axis or which is one. */
static struct axes file_axes(const struct side *s, const struct column *c, struct arena *a)
{
	struct axis *out = ARENA_ARRAY(a, struct axis, MAXD + 1);
	const int first = c->file_a_sample ? 0 : 1, last = c->sample.nd - 1,
	          channels = s->placed == LAYOUT_FIRST ? 0 : s->placed == LAYOUT_LAST ? last : -1;
	struct axes axes = { 1, out };
	out[0] = c->file_a_sample ? (struct axis){ .n = 1 } : source_axis(c->source, 0, a);
	for (int i = 0; i <= last; i++)
		if (i != channels)
			out[axes.n++] = source_axis(c->source, first + i, a);
	return axes;
}

/* A copy in a, which borrows from `like` what is the same there. */
static struct axes thrifty_copy(struct arena *a, const struct axes *from, const struct axes *like)
{
	struct axis *copy = ARENA_ARRAY(a, struct axis, from->n + 1);
	for (int k = 0; k < from->n; k++) {
		const struct axes one = { 1, &from->axis[k] };

		copy[k] = like && k < like->n && axis_equal(&from->axis[k], &like->axis[k])
		          ? like->axis[k] : *axes_copy(a, &one).axis;
	}
	return (struct axes){ from->n, copy };
}

static bool says_anything(const struct axes *axes)
{
	for (int k = 0; k < axes->n; k++)
		if (axes->axis[k].name)
			return true;
	return false;
}

/* Of all its files. */
static int column_axes(const struct side *s, struct column *c, struct arena *a, struct axes *out)
{
	struct axes *of = mem_calloc((size_t)c->nfiles, sizeof *of);
	int rc = 0, n = 0;
	for (; n < c->nfiles && rc == 0; n++) {
		struct arena *own = arena_new();

		rc = column_file(c, n);
		if (rc == 0) {
			const struct axes said = file_axes(s, c, own);

			of[n] = thrifty_copy(a, &said, n ? &of[0] : NULL);
		}
		arena_free(own);
		if (n == 0 && !says_anything(&of[0]))
			break;
	}
	*out = rc == 0 && n == c->nfiles ? axes_join(a, of, n) : (struct axes){ 0 };
	mem_free(of);
	return rc;
}

int side_axes(struct side *s, struct arena *a, const int64_t *sample, int64_t n, struct axes *out)
{
	struct column *c = side_first_moving(s);
	struct axis *chosen;
	*out = (struct axes){ 0 };
	if (c->repeated || c->source->format->picture)
		return 0;
	TRY(column_axes(s, c, a, out));
	if (out->n == 0 || !says_anything(out))
		return 0;
	chosen = ARENA_ARRAY(a, struct axis, out->n);
	for (int k = 0; k < out->n; k++)
		chosen[k] = out->axis[k];
	chosen[0] = choose_samples(a, &out->axis[0], sample, n);
	out->axis = chosen;
	return 0;
}
