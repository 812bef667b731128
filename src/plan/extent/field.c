/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Padding is added only at the end of the field, so indices do not change, and tiles of a field
 * (plan/extent/tiles.h) are windows of the padded field. */
#include "plan/extent/field.h"

#include <string.h>

#include "base/err.h"
#include "op/lib/emit.h"
#include "op/lib/slice.h"

void field_pad_to(struct plan_field *f, const int64_t stride[FIELD_AXES])
{
	for (int k = 0; k < FIELD_AXES; k++)
		f->pad[k] = k + 1 < f->input.nd ? (stride[k] - f->input.d[k + 1] % stride[k]) % stride[k] :
		            0;
}

struct shape field_padded(const struct plan_field *f)
{
	struct shape s = f->input;
	for (int k = 0; k + 1 < s.nd && k < FIELD_AXES; k++)
		s.d[k + 1] += f->pad[k];
	return s;
}

static bool padded(const struct plan_field *f)
{
	return f->input.nd > 1 && (f->pad[0] || f->pad[1] || f->pad[2]);
}

int field_emit_pad(struct graph *g, const struct plan_field *f, tid x, tid *out)
{
	const struct shape *s = &graph_t(g, x)->shape;
	int64_t before[MAXD] = { 0 }, after[MAXD] = { 0 };
	*out = x;
	g->whole = f->whole;
	if (!padded(f))
		return 0;
	for (int k = 0; k + 2 < s->nd; k++)
		after[k + 2] = f->pad[k];
	const struct pad at = { ints_make(g, s->nd, before), ints_make(g, s->nd, after), 0 };
	return graph_emit1(g, "pad", &at, 1, &x, out);
}

int64_t field_cut_extent(int64_t y, int64_t padded, int64_t n)
{
	if (padded % y == 0)
		return (n + padded / y - 1) / (padded / y);
	return y % padded == 0 ? n * (y / padded) : y;
}

int field_emit_cut(struct graph *g, const struct plan_field *f, tid y, tid *out)
{
	const struct shape s = graph_t(g, y)->shape, whole = field_padded(f);
	*out = y;
	g->whole = NULL;
	if (!padded(f) || s.nd != whole.nd + 1)
		return 0;
	for (int k = 2; k < s.nd; k++) {
		const struct slice cut = { k, 0,
			field_cut_extent(s.d[k], whole.d[k - 1], f->input.d[k - 1]) };
		if (cut.size < s.d[k])
			TRY(graph_emit1(g, "slice", &cut, 1, out, out));
	}
	return 0;
}
