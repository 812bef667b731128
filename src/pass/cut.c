/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A first traversal finds the steps of all tensors (receptive_field.h), which determine the planes.
 * A second one decides, node by node, which tensors are cut. */
#include "pass/cut.h"

#include <string.h>

#include "base/err.h"
#include "base/round.h"
#include "op/norm/group_norm.h"
#include "op/resize.h"
#include "pass/rewrite.h"

/* --- rows --- */

void cut_place(const struct cut_grid *grid, int p, int place[CUT_AXES])
{
	for (int k = CUT_AXES - 1; k >= 0; k--) {
		place[k] = p % grid->parts[k];
		p /= grid->parts[k];
	}
}

static int64_t extent_of(const struct cut *c, tid t, int k)
{
	return c->tensor[t].extent[k];
}

struct cut_rows cut_rows(const struct cut *c, tid t, int k, int j)
{
	const struct cut_step *s = &c->tensor[t].step[k];
	const int64_t extent = extent_of(c, t, k), *bound = c->bound[k];
	struct cut_rows r = { 0, extent };
	if (j > 0)
		r.lo = floor_div(bound[j] * s->den, s->num);
	if (j + 1 < c->grid.parts[k])
		r.hi = floor_div(bound[j + 1] * s->den, s->num);
	r.lo = r.lo < extent ? r.lo : extent;
	r.hi = r.hi < extent ? r.hi : extent;
	return r;
}

/* Elementwise ops: they read the position of each input that they write, and have no other outputs
 * along these axes. */
static bool by_place(enum cut_way way)
{
	return way == CUT_SHARE || way == CUT_COUNT || way == CUT_REDUCED || way == CUT_NORM;
}

static bool reads_of(const struct cut *c, const struct node *n, enum cut_way way, int i, int k,
                     int j, struct cut_rows *rows)
{
	const tid leader = by_place(way) ? n->in[0] : n->out[0], x = n->in[i];
	const struct cut_tensor *t = &c->tensor[x];
	const struct cut_rows out = cut_rows(c, leader, k, j);
	int64_t lo = out.lo, hi = out.hi - 1;
	if (by_place(way)) {
		*rows = out;
		return t->rows;
	}
	if (!n->op->reads || !n->op->reads(c->g, n, i, c->tensor[n->out[0]].first + k, &lo, &hi))
		return false;
	*rows = (struct cut_rows){ lo, hi + 1 };
	return true;
}

bool cut_reads(const struct cut *c, const struct node *n, int i, int k, int j,
               struct cut_rows *rows)
{
	return c->way[n->id] != CUT_WHOLE && reads_of(c, n, c->way[n->id], i, k, j, rows);
}

static struct cut_rows clip(struct cut_rows r, int64_t extent)
{
	r.lo = r.lo > 0 ? r.lo : 0;
	r.hi = r.hi < extent ? r.hi : extent;
	return r;
}

struct cut_rows cut_needs(const struct cut *c, const struct node *n, int i, int k, int j)
{
	struct cut_rows r;
	const int64_t extent = extent_of(c, n->in[i], k);
	if (!cut_reads(c, n, i, k, j, &r))
		return (struct cut_rows){ 0, extent };
	return clip(r, extent);
}

bool cut_has_needs(const struct cut *c, const struct node *n, int i, int k)
{
	for (int j = 0; j < c->grid.parts[k]; j++) {
		const struct cut_rows has = cut_rows(c, n->in[i], k, j), r = cut_needs(c, n, i, k, j);
		if (has.lo != r.lo || has.hi != r.hi)
			return false;
	}
	return true;
}

/* --- ways --- */

static const struct {
	const char *op;
	enum cut_way way;
} ways[] = {
	{ "batch_norm", CUT_NORM }, { "group_norm", CUT_NORM },
	{ "global_average", CUT_REDUCED }, { "dice_loss", CUT_NORM },
	{ "softmax_cross_entropy", CUT_SHARE }, { "element_loss", CUT_SHARE },
	{ "mse_loss", CUT_SHARE }, { "l1_loss", CUT_SHARE }, { "huber_loss", CUT_SHARE },
	{ "confusion", CUT_COUNT }, { "label_ranks", CUT_COUNT }, { "error_sums", CUT_COUNT },
	{ "flag_counts", CUT_COUNT }, { "iou_per_sample", CUT_COUNT },
};

static enum cut_way way_by_name(const struct node *n)
{
	if (strcmp(n->op->name, "group_norm") == 0 && ((const struct group_norm *)n->attr)->by_point)
		return CUT_ROWS;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (strcmp(n->op->name, ways[i].op) == 0)
			return ways[i].way;
	return CUT_ROWS;
}

/* --- steps --- */

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b) {
		const int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* The step of out[0] along axis k, derived from that of in[i]; num 0: it has none. */
static struct cut_step step_by(const struct cut *c, const struct node *n, int i, int k)
{
	struct cut_step s = c->tensor[n->in[i]].step[k];
	int64_t num, den;
	if (s.num == 0 || !receptive_step(c->g, n, i, k, &num, &den))
		return (struct cut_step){ 0, 1 };
	if (strcmp(n->op->name, "resize") == 0 && resize_aligned(n)) {
		num = node_in_shape(c->g, n, 0)->d[k + 2];
		den = node_out_shape(c->g, n, 0)->d[k + 2];
	}
	s.num *= num;
	s.den *= den;
	const int64_t d = common_divisor(s.num, s.den);
	return (struct cut_step){ s.num / d, s.den / d };
}

static void find_steps_of(const struct cut *c, const struct node *n, struct cut_tensor *y)
{
	const struct shape *out = node_out_shape(c->g, n, 0);
	for (int i = 0; i < n->nin && y->step[0].num == 0; i++) {
		if (n->in[i] == NONE || c->tensor[n->in[i]].step[0].num == 0)
			continue;
		const struct cut_tensor *x = &c->tensor[n->in[i]];
		y->first = shape_equal(out, node_in_shape(c->g, n, i)) ? x->first : 2;
		for (int k = 0; k < c->grid.axes && out->nd == y->first + c->grid.axes; k++)
			y->step[k] = x->first == 2 && way_by_name(n) == CUT_ROWS ? step_by(c, n, i, k) :
			             shape_equal(out, node_in_shape(c->g, n, i)) ? x->step[k] :
			             (struct cut_step){ 0, 1 };
	}
}

static void give_steps(const struct cut *c, tid t, const struct cut_tensor *like)
{
	const struct shape *s = &graph_t(c->g, t)->shape;
	c->tensor[t] = *like;
	for (int k = 0; k < c->grid.axes && s->nd == like->first + c->grid.axes; k++)
		c->tensor[t].extent[k] = s->d[like->first + k];
}

/* Computes the steps of all tensors, node by node. */
static void find_steps(const struct cut *c)
{
	for (int i = 0; i < c->g->nnode; i++) {
		const struct node *n = c->g->node[i];
		struct cut_tensor y = { .first = 2 };
		find_steps_of(c, n, &y);
		for (int o = 0; o < n->nout; o++)
			if (n->out[o] != NONE)
				give_steps(c, n->out[o], &y);
	}
}

/* --- planes --- */

/* Chooses the planes of the input, at multiples of `stride` and as evenly spaced as possible;
 * false: there are too few multiples. */
static bool place_planes(int64_t extent, int parts, int64_t stride, int64_t *bound)
{
	const int64_t units = extent / stride;
	if (units < parts)
		return false;
	for (int j = 0; j <= parts; j++) {
		int64_t u = (2 * j * extent + parts * stride) / (2 * parts * stride);
		const int64_t least = j ? bound[j - 1] / stride + 1 : 0, most = units - (parts - j);
		u = u < least ? least : u > most ? most : u;
		bound[j] = j == parts ? extent : u * stride;
	}
	return true;
}

/* The least common multiple of the whole steps up to `limit`; *most: the largest of them. */
static int64_t stride_of(const struct cut *c, int k, int64_t limit, int64_t *most)
{
	int64_t stride = 1;
	*most = 1;
	for (tid t = 0; t < c->g->ntensor; t++) {
		const struct cut_step *s = &c->tensor[t].step[k];
		if (s->num < 1 || s->num > limit || s->den > 1)
			continue;
		stride = stride / common_divisor(stride, s->num) * s->num;
		*most = s->num > *most ? s->num : *most;
	}
	return stride;
}

static int refuse(const struct cut *c, tid input, int k)
{
	const int64_t extent = extent_of(c, input, k);
	const int parts = c->grid.parts[k];
	return ERR(E_SHAPE, &c->g->cur_loc, "cuts %lld rows into %d subdomains: '%s' would "
	           "have none in %lld of them; at most %lld", (long long)extent, parts,
	           graph_t(c->g, input)->name,
	           (long long)(parts - extent), (long long)extent);
}

/* Excludes levels whose step is too large, the deepest first. *limit: the largest step that is
 * cut. */
static int find_planes(struct cut *c, struct arena *a, tid input, int k, int64_t *limit)
{
	int64_t *bound = ARENA_ARRAY(a, int64_t, c->grid.parts[k] + 1), most;
	const int64_t extent = extent_of(c, input, k);
	*limit = INT64_MAX;
	c->bound[k] = bound;
	for (;;) {
		c->stride[k] = stride_of(c, k, *limit, &most);
		if (place_planes(extent, c->grid.parts[k], c->stride[k], bound))
			return 0;
		if (most == 1)
			return refuse(c, input, k);
		*limit = most - 1;
	}
}

/* --- tensors and nodes --- */

static bool divided(const struct cut *c, int k)
{
	return k < c->grid.axes && c->grid.parts[k] > 1;
}

/* Whether t has rows in each part, with these steps. */
static bool has_rows(const struct cut *c, tid t, const int64_t limit[])
{
	if (graph_t(c->g, t)->shape.nd != c->grid.axes + c->tensor[t].first)
		return false;
	for (int k = 0; k < c->grid.axes; k++) {
		const struct cut_step *s = &c->tensor[t].step[k];
		if (s->num < 1 || (divided(c, k) && s->num > limit[k]))
			return false;
		for (int j = 0; j < c->grid.parts[k]; j++) {
			const struct cut_rows r = cut_rows(c, t, k, j);
			if (r.lo >= r.hi)
				return false;
		}
	}
	return true;
}

/* Whether the positions of in[i] (which every subdomain holds as a whole) that the parts read
 * follow each other, so that each part can take its own rows. */
static bool tiles(const struct cut *c, const struct node *n, enum cut_way way, int i, int k)
{
	const struct shape *x = &graph_t(c->g, n->in[i])->shape;
	struct cut_rows r, before = { 0, 0 };
	for (int j = 0; j < c->grid.parts[k]; j++) {
		if (!reads_of(c, n, way, i, k, j, &r) || (r.lo == 0 && r.hi == 1 && x->d[k + 2] == 1))
			return j == 0;
		if (r.lo != before.hi)
			return false;
		before = r;
	}
	return before.hi == x->d[k + 2];
}

/* Whether each part reads something of in[i] along axis k that it can be given. */
static bool readable(const struct cut *c, const struct node *n, enum cut_way way, int i, int k)
{
	const bool rows = c->tensor[n->in[i]].rows;
	struct cut_rows r;
	if (!rows)
		return tiles(c, n, way, i, k);
	for (int j = 0; j < c->grid.parts[k]; j++) {
		if (!reads_of(c, n, way, i, k, j, &r))
			return false;
		r = clip(r, extent_of(c, n->in[i], k));
		if (r.lo >= r.hi)
			return false;
	}
	return true;
}

static bool same_places(const struct cut *c, tid a, tid b)
{
	for (int k = 0; k < c->grid.axes; k++)
		if (extent_of(c, a, k) != extent_of(c, b, k))
			return false;
	return true;
}

static bool has_places_of(const struct cut *c, const struct node *n, int o)
{
	return graph_t(c->g, n->out[o])->shape.nd == node_out_shape(c->g, n, 0)->nd &&
	       same_places(c, n->out[0], n->out[o]);
}

/* Whether further outputs have the same positions as the first, or have no reader yet. */
static bool outputs_agree(const struct cut *c, const struct node *n)
{
	for (int o = 1; o < n->nout; o++)
		if (n->out[o] != NONE && !has_places_of(c, n, o) &&
		    readers_count(&c->readers, n->out[o]) > 0)
			return false;
	return true;
}

static bool rows_suffice(const struct cut *c, const struct node *n)
{
	if (!outputs_agree(c, n))
		return false;
	for (int i = 0; i < n->nin; i++)
		for (int k = 0; k < c->grid.axes && n->in[i] != NONE; k++)
			if (divided(c, k) && !readable(c, n, CUT_ROWS, i, k))
				return false;
	return true;
}

/* The target of a loss has its axes where that of the network's output are, or one before. */
static bool places_suffice(const struct cut *c, const struct node *n)
{
	if (n->in[0] == NONE || !c->tensor[n->in[0]].rows)
		return false;
	for (int i = 1; i < n->nin; i++)
		if (n->in[i] != NONE && c->tensor[n->in[i]].rows && !same_places(c, n->in[0], n->in[i]))
			return false;
	return true;
}

static bool reads_cut(const struct cut *c, const struct node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE && c->tensor[n->in[i]].rows)
			return true;
	return false;
}

static void set_rows(struct cut *c, const struct node *n, bool rows)
{
	for (int o = 0; o < n->nout; o++)
		if (n->out[o] != NONE)
			c->tensor[n->out[o]].rows = rows && has_places_of(c, n, o);
}

static void decide(struct cut *c, const struct node *n, const int64_t limit[])
{
	const enum cut_way way = way_by_name(n);
	c->tensor[n->out[0]].once = way == CUT_COUNT;
	if (!reads_cut(c, n))
		return;
	if (by_place(way) && places_suffice(c, n) && !rewrite_is(n, "iou_per_sample")) {
		c->way[n->id] = way;
		c->tensor[n->out[0]].once = false;
		c->tensor[n->out[0]].rows = shape_equal(node_in_shape(c->g, n, 0),
		                                        node_out_shape(c->g, n, 0));
	}
	if (way != CUT_ROWS || !n->op->reads || !has_rows(c, n->out[0], limit))
		return;
	set_rows(c, n, true);
	if (rows_suffice(c, n))
		c->way[n->id] = CUT_ROWS;
	else
		set_rows(c, n, false);
}

/* The target is cut as the output if it has as many positions; then the loss computed from both can
 * be cut too. */
static void give_places(struct cut *c, tid target, tid output)
{
	struct cut_tensor t = c->tensor[output];
	t.first = graph_t(c->g, target)->shape.nd - c->grid.axes;
	if (t.step[0].num == 0 || t.first < 1 || t.first > 2)
		return;
	give_steps(c, target, &t);
	if (same_places(c, target, output))
		find_steps(c);
	else
		memset(c->tensor[target].step, 0, sizeof t.step);
}

int cut_find(struct cut *c, struct arena *a, const struct graph *g, tid input, tid target,
             tid output, const struct cut_grid *grid)
{
	struct cut_tensor first = { .first = 2 };
	int64_t limit[CUT_AXES];
	*c = (struct cut){ .g = g, .grid = *grid,
		.tensor = ARENA_ARRAY(a, struct cut_tensor, g->ntensor),
		.way = ARENA_ARRAY(a, enum cut_way, g->nnode), .readers = rewrite_readers(g, a) };
	for (tid t = 0; t < g->ntensor; t++)
		give_steps(c, t, &first);
	for (int k = 0; k < grid->axes; k++)
		first.step[k] = (struct cut_step){ 1, 1 };
	give_steps(c, input, &first);
	find_steps(c);
	if (target != NONE)
		give_places(c, target, output);
	for (int k = 0; k < grid->axes; k++)
		TRY(find_planes(c, a, input, k, &limit[k]));
	c->tensor[input].rows = true;
	if (target != NONE)
		c->tensor[target].rows = c->tensor[target].step[0].num > 0 && has_rows(c, target, limit);
	for (int i = 0; i < g->nnode; i++)
		decide(c, g->node[i], limit);
	return 0;
}
