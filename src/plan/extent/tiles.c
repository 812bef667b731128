/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows are placed from the beginning of the field. Each begins as late as possible without a gap
 * in the usable outputs; the last one ends where the field ends. */
#include "plan/extent/tiles.h"

#include <inttypes.h>

#include "base/err.h"

struct rule {
	const struct receptive_field *r;
	int k;
	bool blended;
};

static int64_t outputs(const struct receptive_axis *x, int64_t inputs)
{
	return inputs * x->den / x->num;
}

/* How far windows are apart: a multiple of the total stride, 0 if there is none. */
static int64_t spacing(const struct rule *u, int64_t tile)
{
	const struct receptive_axis *x = &u->r->axis[u->k];
	const int64_t stride = u->r->stride[u->k];
	int64_t apart = tile - tile / 4;
	if (!u->blended)
		apart = (x->end - x->begin) * x->num / x->den;
	return apart < stride ? 0 : apart / stride * stride;
}

static void place(struct tile_axis *t, const struct rule *u, int i, int64_t from)
{
	const struct receptive_axis *x = &u->r->axis[u->k];
	const int64_t origin = outputs(x, from);
	const bool last = from + t->tile == t->whole;
	t->from[i] = from;
	t->begin[i] = u->blended || i == 0 ? origin : t->end[i - 1];
	t->end[i] = u->blended || last ? origin + t->out_tile : origin + x->end;
	t->at[i] = t->begin[i] - origin;
}

/* The extent with which the windows of this axis would have outputs at all. */
static int64_t least_tile(const struct rule *u)
{
	const int64_t stride = u->r->stride[u->k];
	const int64_t reach = u->r->axis[u->k].hi - u->r->axis[u->k].lo;
	return u->blended ? 2 * stride : (reach / stride + 3) * stride;
}

static int cut_axis(struct tile_axis *t, struct arena *a, const struct rule *u)
{
	const struct receptive_axis *x = &u->r->axis[u->k];
	const int64_t apart = t->whole > t->tile ? spacing(u, t->tile) : t->tile,
	              most = t->whole / (apart ? apart : 1) + 2;
	t->out_tile = x->extent;
	t->out_whole = t->out_tile + outputs(x, t->whole - t->tile);
	if (apart == 0)
		return ERR(E_USAGE, NULL, "tiles of %" PRId64
		           " along spatial axis %d are too small: their outputs depend on about %" PRId64
		           " inputs; from about %" PRId64 " they have some of their own", t->tile, u->k,
		           u->blended ? t->tile : x->hi - x->lo + 1, least_tile(u));
	t->from = ARENA_ARRAY(a, int64_t, most);
	t->begin = ARENA_ARRAY(a, int64_t, most);
	t->end = ARENA_ARRAY(a, int64_t, most);
	t->at = ARENA_ARRAY(a, int64_t, most);
	for (int64_t from = 0; t->n == 0 || t->from[t->n - 1] + t->tile < t->whole; from += apart)
		place(t, u, t->n++, from + t->tile < t->whole ? from : t->whole - t->tile);
	return 0;
}

int tiles_cut(struct tiling *t, struct arena *a, const struct receptive_field *r, bool blended,
              const int64_t *whole, const int64_t *tile)
{
	*t = (struct tiling){ .axes = r->axes, .blended = blended };
	for (int k = 0; k < r->axes; k++) {
		const struct rule u = { r, k, blended };
		t->axis[k].whole = whole[k];
		t->axis[k].tile = tile[k];
		TRY(cut_axis(&t->axis[k], a, &u));
	}
	return 0;
}

double tile_weight(const struct tile_axis *x, int i, int64_t o)
{
	double w = 1;
	if (i > 0 && o < x->end[i - 1])
		w = (double)(o - x->begin[i] + 1) / (double)(x->end[i - 1] - x->begin[i] + 1);
	if (i + 1 < x->n && o >= x->begin[i + 1])
		w *= (double)(x->end[i] - o) / (double)(x->end[i] - x->begin[i + 1] + 1);
	return w;
}
