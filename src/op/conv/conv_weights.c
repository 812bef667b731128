/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables of weights' offsets by axis. */
#include "op/conv/conv_weights.h"

#include <string.h>

#include "op/conv/conv_shape.h"

static const int64_t *axis_table(struct arena *arena, const struct layout *l, int d)
{
	int64_t *t = ARENA_ARRAY(arena, int64_t, l->dims[d]);
	for (int64_t i = 0; i < l->dims[d]; i++)
		t[i] = layout_axis_offset(l, d, i);
	return t;
}

static const int64_t *tap_table(struct arena *arena, const struct layout *l)
{
	int64_t taps = 1;
	for (int d = 2; d < l->nd; d++)
		taps *= l->dims[d];
	int64_t *table = ARENA_ARRAY(arena, int64_t, taps);

	for (int64_t t = 0; t < taps; t++) {
		int64_t left = t;
		for (int d = l->nd - 1; d >= 2; d--) {
			table[t] += layout_axis_offset(l, d, left % l->dims[d]);
			left /= l->dims[d];
		}
	}
	return table;
}

bool conv_weights_make(struct conv_weights *w, struct arena *arena, const struct layout *l,
                       const struct conv_geom *g)
{
	const struct shape s = conv_w_shape(g);
	if (!l->set || l->nd != s.nd || memcmp(l->dims, s.d, sizeof *s.d * (size_t)s.nd) != 0)
		return false;
	w->o = axis_table(arena, l, 0);
	w->i = axis_table(arena, l, 1);
	w->tap = tap_table(arena, l);
	w->elements = layout_elements(l);
	w->dense = layout_is_dense(l);
	return true;
}
