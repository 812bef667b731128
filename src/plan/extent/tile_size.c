/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of a tile is only known from its plan. To find a tile that fits, the whole field is
 * planned first, then smaller and smaller tiles, by halving the longest axis each time. */
#include "plan/extent/tile_size.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/round.h"
#include "plan/extent/whole.h"
#include "plan/memory/memory_budget.h"
#include "plan/describe/sizes.h"

#define MOST_PLANS 24
#define MOST_EXTENT (1 << 30)

/* --- the option --- */

static int parse(const char *spec, int64_t v[RECEPTIVE_AXES])
{
	int n = 0;
	for (const char *at = spec; n < RECEPTIVE_AXES; at++) {
		char *end;
		v[n] = strtoll(at, &end, 10);
		if (end == at || v[n] < 1 || v[n] > MOST_EXTENT || *at < '0' || *at > '9')
			return 0;
		n++;
		at = end;
		if (*at == '\0')
			return n;
		if (*at != 'x')
			return 0;
	}
	return 0;
}

static bool automatic(const char *spec)
{
	return strcmp(spec, "auto") == 0;
}

int tile_check(const char *spec)
{
	int64_t v[RECEPTIVE_AXES];
	if (automatic(spec) || parse(spec, v) > 0)
		return 0;
	return ERR(E_USAGE, NULL,
	           "'--tile %s': expected auto, or the size of a tile as in 256 or 64x256x256", spec);
}

/* --- cutting --- */

static int refuse_outputs(const struct shape *padded)
{
	char text[SHAPE_TEXT];
	return ERR(E_USAGE, NULL, "'--tile' is for networks whose output has the spatial axes of the "
	           "input; for %s this one's has not", shape_text(padded, text));
}

static bool same_axis(const struct receptive_axis *a, const struct receptive_axis *b,
                      int64_t inputs)
{
	return a->num > 0 && a->num == b->num && a->den == b->den && a->lo == b->lo &&
	       a->hi == b->hi && a->begin == b->begin && a->extent - a->end == b->extent - b->end &&
	       inputs * a->den % a->num == 0 &&
	       b->extent - a->extent == inputs * a->den / a->num;
}

/* Whether the layers crop a window by as many points as they crop the whole field, which has in[]
 * more input points along each axis. */
static bool same_crop(const struct receptive_field *tile, const struct receptive_field *whole,
                      const int64_t in[])
{
	for (int k = 0; k < tile->axes; k++)
		if (!same_axis(&tile->axis[k], &whole->axis[k], in[k]))
			return false;
	return tile->finite && whole->finite;
}

/* Whether each axis of a tile is scaled by the same integer factor, up or down, as the whole field:
 * blended tiles need no other property. */
static bool scales(const struct receptive_field *tile, const struct receptive_field *whole,
                   const int64_t *t, const int64_t *w)
{
	for (int k = 0; k < tile->axes; k++)
		if (tile->axis[k].extent * w[k] != whole->axis[k].extent * t[k] ||
		    t[k] * tile->axis[k].extent <= 0 ||
		    (t[k] % tile->axis[k].extent != 0 && tile->axis[k].extent % t[k] != 0))
			return false;
	return true;
}

/* For blended tiles: the step that the extents tell, where none is known. */
static void take_factors(struct receptive_field *r, const int64_t *tile)
{
	for (int k = 0; k < r->axes; k++) {
		const bool down = tile[k] >= r->axis[k].extent;
		r->axis[k].num = down ? tile[k] / r->axis[k].extent : 1;
		r->axis[k].den = down ? 1 : r->axis[k].extent / tile[k];
	}
}

static int cut(const struct session *s, struct tile_plan *t)
{
	const struct shape padded = field_padded(&t->field);
	struct receptive_field tile, whole;
	int64_t in[RECEPTIVE_AXES];
	TRY(whole_receptive_field(s, &t->tile, &t->whole, &tile));
	TRY(whole_receptive_field(s, &padded, NULL, &whole));
	for (int k = 0; k < tile.axes; k++)
		in[k] = padded.d[k + 1] - t->tile.d[k + 1];
	const bool finite = same_crop(&tile, &whole, in);
	if (!finite && !scales(&tile, &whole, t->tile.d + 1, padded.d + 1))
		return refuse_outputs(&padded);
	if (!finite)
		take_factors(&tile, t->tile.d + 1);
	t->exact = finite && tile.exact;
	return tiles_cut(&t->tiling, s->config->arena, &tile, !finite, padded.d + 1, t->tile.d + 1);
}

/* --- the size --- */

static struct shape tile_shape(const struct plan_field *f, const int64_t *tile)
{
	struct shape s = f->input;
	for (int k = 0; k + 1 < s.nd; k++)
		s.d[k + 1] = tile[k];
	return s;
}

/* Rows of outputs of the whole sample, in the host's memory: those that a row of tiles gives,
 * twice. */
static int64_t slab_bytes(const struct plan *p, const struct shape *tile,
                          const struct shape *padded)
{
	const struct shape *out = &graph_t(p->g, plan_out(p, "output"))->shape;
	double n = 2 * sizeof(float) * (double)shape_count(out);
	for (int k = 2; k < padded->nd; k++)
		n *= (double)padded->d[k] / (double)tile->d[k];
	return (int64_t)n;
}

/* The bytes that predictions by tiles of this shape need; net: of the network. */
static int need(const struct session *s, const struct receptive_field *net,
                const struct tile_plan *t, int64_t *bytes, int64_t *fixed)
{
	const struct shape padded = field_padded(&t->field);
	struct plan_data data = s->data;
	data.field = (struct plan_field){ .input = t->tile, .whole = &t->whole };
	const struct plan_request r = { .config = s->config, .dev = s->dev, .store = s->store,
		.objective = s->config->objectives.v,
		.data = &data, .mode = PLAN_PREDICT,
		/* as session_plan_batch has it */
		.batch = 1, .limit = INT64_MIN, .any_extent = net->finite };
	struct plan *p;
	TRY(plan_new(&p, &r));
	const struct memory_need n = memory_need(s, p);
	*bytes = n.arena;
	*fixed = n.fixed + (s->dev->driver || shape_equal(&t->tile, &padded) ? 0 :
	                    slab_bytes(p, &t->tile, &padded));
	plan_free(p);
	return 0;
}

static int64_t offered(const struct session *s)
{
	struct memory_budget r;
	memory_budget_get(s, &r);
	if (s->config->train.memory.limit != INT64_MIN)
		return s->config->train.memory.limit;
	return r.have > 0 && r.now > 0 && r.now < r.have ? r.now : r.have;
}

/* The next smaller tile: half of the longest axis, or false. */
static bool shrink(int64_t *tile, const int64_t *stride, int axes)
{
	int longest = 0;
	for (int k = 1; k < axes; k++)
		if (tile[k] > tile[longest])
			longest = k;
	const int64_t half = ceil_div(ceil_div(tile[longest], 2), stride[longest]) * stride[longest];
	if (half >= tile[longest])
		return false;
	tile[longest] = half;
	return true;
}

static int no_tile(int64_t have, int64_t least)
{
	char a[32], b[32];
	return ERR(E_TOO_LARGE, NULL,
	           "no tile fits: the smallest that has outputs of its own needs %s, and there are %s",
	           bytes_text((double)least, a), bytes_text((double)have, b));
}

/* Whether windows of the extents of t->tile can be cut at all. */
static bool can_be_cut(const struct session *s, struct tile_plan *t)
{
	int mark = err_count();
	const bool can = cut(s, t) == 0;
	err_truncate(mark);
	return can;
}

/* Sets t->tile to the largest that fits. */
static int fit(const struct session *s, struct tile_plan *t, int64_t tile[RECEPTIVE_AXES],
               int64_t *bytes, bool *whole)
{
	const struct shape padded = field_padded(&t->field);
	const int64_t have = offered(s);
	struct receptive_field r;
	int64_t fixed;
	memcpy(tile, padded.d + 1, sizeof *tile * (size_t)(padded.nd - 1));
	TRY(whole_receptive_field(s, &s->data.input, NULL, &r));
	for (int i = 0; i < MOST_PLANS; i++) {
		t->tile = tile_shape(&t->field, tile);
		TRY(need(s, &r, t, bytes, &fixed));
		*whole = shape_equal(&t->tile, &padded);
		if (have <= 0 || fixed + *bytes <= have)
			return 0;
		if (!shrink(tile, r.stride, r.axes))
			break;
		t->tile = tile_shape(&t->field, tile);
		if (!can_be_cut(s, t))
			break;
	}
	return no_tile(have, fixed + *bytes);
}

int tile_fit(const struct session *s, const struct plan_field *f, int64_t tile[RECEPTIVE_AXES],
             int64_t *bytes, bool *whole)
{
	const struct shape padded = field_padded(f);
	struct arena *a = arena_new();
	struct tile_plan t = { .field = *f };
	int rc = whole_shapes(s, &padded, a, &t.whole);
	if (rc == 0)
		rc = fit(s, &t, tile, bytes, whole);
	arena_free(a);
	return rc;
}

/* Sizes are rounded up to the total stride, and no larger than the field. */
static int take_size(const char *spec, const struct shape *padded, const int64_t *stride,
                     int64_t *tile)
{
	int64_t v[RECEPTIVE_AXES];
	const int n = parse(spec, v), axes = padded->nd - 1;
	if (n != 1 && n != axes)
		return ERR(E_USAGE, NULL,
		           "'--tile %s': samples have %d spatial axes; give one number, or one for each",
		           spec, axes);
	for (int k = 0; k < axes; k++) {
		tile[k] = ceil_div(v[n == 1 ? 0 : k], stride[k]) * stride[k];
		tile[k] = tile[k] < padded->d[k + 1] ? tile[k] : padded->d[k + 1];
	}
	return 0;
}

/* A sample of training's size is not padded, so that it is seen as in training. */
static int check_even(const struct plan_field *f, const int64_t *stride)
{
	char text[SHAPE_TEXT];
	for (int k = 0; k + 1 < f->input.nd; k++)
		if ((f->input.d[k + 1] + f->pad[k]) % stride[k])
			return ERR(E_USAGE, NULL, "'--tile': samples of %s have the size of training, which is "
			           "no multiple of the network's total stride %" PRId64 "; predict them whole",
			           shape_text(&f->input, text), stride[k]);
	return 0;
}

int tile_settle(const struct session *s, const char *spec, struct tile_plan *out)
{
	int64_t tile[RECEPTIVE_AXES] = { 1, 1, 1 }, bytes;
	struct receptive_field r;
	bool whole;
	*out = (struct tile_plan){ .field = s->data.field };
	if (!whole_differs(s))
		out->field = (struct plan_field){ .input = s->data.input, .target = s->data.target };
	const struct shape padded = field_padded(&out->field);
	if (padded.nd < 2)
		return refuse_outputs(&padded);
	TRY(whole_receptive_field(s, &s->data.input, NULL, &r));
	if (r.finite)
		TRY(check_even(&out->field, r.stride));
	TRY(whole_shapes(s, &padded, s->config->arena, &out->whole));
	if (automatic(spec))
		TRY(fit(s, out, tile, &bytes, &whole));
	else
		TRY(take_size(spec, &padded, r.stride, tile));
	out->tile = tile_shape(&out->field, tile);
	return cut(s, out);
}

static void put_extents(struct buf *out, const struct shape *s)
{
	for (int k = 1; k < s->nd; k++)
		buf_printf(out, "%s%" PRId64, k > 1 ? " x " : "", s->d[k]);
}

void tile_text(const struct tile_plan *t, struct buf *out)
{
	int64_t n = 1;
	for (int k = 0; k < t->tiling.axes; k++)
		n *= t->tiling.axis[k].n;
	buf_printf(out, "%" PRId64 " tile%s of ", n, n == 1 ? "" : "s");
	put_extents(out, &t->tile);
	buf_puts(out, " for each sample of ");
	put_extents(out, &t->field.input);
	if (t->tiling.blended)
		buf_puts(out, "; the receptive field is not finite, so tiles overlap and are blended: not "
		         "the numbers of the whole");
	else if (t->exact)
		buf_puts(out, ", with halos of the receptive field: the numbers of the whole");
	else
		buf_puts(out, ", with halos of the receptive field: the numbers of the whole "
		         "but for rounding in resize");
}
