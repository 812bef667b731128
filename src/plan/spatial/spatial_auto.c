/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cut is tried by planning the whole run with it, as memory_advice.h tries batches. Running ranks
 * plan the subdomains that they would have, and the one that needs the most decides; for ranks that
 * are only planned for, a typical subdomain is planned, and that with the most rows. */
#include "plan/spatial/spatial_auto.h"

#include "base/err.h"
#include "comm/comm.h"
#include "plan/describe/sizes.h"
#include "plan/memory/memory_budget.h"
#include "plan/memory/run_need.h"
#include "plan/spatial/plan_cut.h"
#include "plan/spatial/spatial.h"
#include "plan/sums/sync_group.h"

/* A cut and the bytes that a rank needs with it. */
struct choice {
	struct cut_grid grid;
	double bytes;
};

struct search {
	struct session *s;
	double have;
	struct choice best, refused;   /* the first that fits, or else needs the least; the last that
	                                * does not fit (bytes 0: none) */
	bool fits;
};

/* --- one cut --- */

/* Bytes that the run of t needs for one subdomain. Returns an error if it cannot be planned. */
static int need_of(struct session *t, int subdomain, double *bytes)
{
	struct run_need need;
	t->cut.subdomain = subdomain;
	TRY(run_need(t, t->config, t->config->train.memory.limit, false, &need));
	if ((double)(need.fixed + need.arena) > *bytes)
		*bytes = (double)(need.fixed + need.arena);
	return 0;
}

static int need_of_typical(struct session *t, double *bytes)
{
	int typical, largest;
	TRY(spatial_typical(t, &typical, &largest));
	TRY(need_of(t, typical, bytes));
	return largest == typical ? 0 : need_of(t, largest, bytes);
}

/* t: a copy of s with this cut and its share of the batch. */
static int try_copy(struct session *t, double *bytes)
{
	const struct reduction none = { .dev = t->dev };
	TRY(config_share_batch(t->config, t->nteams));
	TRY(spatial_check_device(t));
	TRY(reduction_plan(&t->ranks, &t->link, t->config, &none, &t->grid));
	if (t->need & SESSION_TRAIN)
		TRY(sync_group_size(t->config, t->nranks, t->parts, &t->ranks.sync_group));
	if (t->parts == 1 || comm_many(t->comm))
		return need_of(t, t->cut.subdomain, bytes);
	return need_of_typical(t, bytes);
}

/* False if this cut is not possible, on some rank. */
static bool try_cut(const struct search *x, const struct cut_grid *grid, double *bytes)
{
	struct session t = *x->s;
	struct run_config c = *x->s->config;
	double v[2] = { 0, 0 };              /* 1: not possible; bytes */
	const int mark = err_count();
	t.config = &c;
	spatial_set_cut(&t, grid);
	v[0] = try_copy(&t, &v[1]) < 0;
	err_truncate(mark);
	if (comm_many(x->s->comm))
		comm_max(x->s->comm, v, 2, "the memory of a cut of the samples");
	*bytes = v[1];
	return v[0] == 0;
}

/* --- all cuts --- */

static void consider(struct search *x, const struct cut_grid *grid)
{
	struct choice now = { *grid, 0 };
	if (x->fits || !try_cut(x, grid, &now.bytes))
		return;
	x->fits = now.bytes <= x->have;
	if (x->fits || x->best.bytes == 0 || now.bytes < x->best.bytes)
		x->best = now;
	if (!x->fits)
		x->refused = now;
}

int spatial_grids(struct cut_grid *grid, int axes, int parts)
{
	int n = 0;
	for (int d = parts; d > 0; d--)
		for (int h = parts / d; h > 0 && parts % d == 0; h--) {
			const int w = parts / d / h;
			if (parts / d % h == 0 && d >= h && h >= w && (axes > 2 || w == 1) &&
			    (axes > 1 || h == 1))
				grid[n++] = (struct cut_grid){ axes, { d, h, w } };
		}
	return n;
}

static void consider_parts(struct search *x, int axes, int parts)
{
	struct cut_grid grid[SPATIAL_GRIDS];
	const int n = spatial_grids(grid, axes, parts);
	for (int i = 0; i < n; i++)
		consider(x, &grid[i]);
}

/* Why there is nothing to choose; NULL: there is. */
static const char *why_whole(const struct session *s, double have)
{
	return s->nranks == 1 ? "there is one rank" :
	       run_is_export(s) ? "nothing is computed" :
	       s->need & SESSION_DUMP ? "a step is dumped with whole samples" :
	       s->tiles ? "samples are predicted in tiles" :
	       s->ntrain_size || s->nsize ? "samples have several sizes" :
	       s->data.input.nd < 2 ? "samples have no spatial axes" :
	       have <= 0 ? "the size of the memory is not known" : NULL;
}

static void choice_text(const struct choice *c, struct buf *out)
{
	if (cut_parts(&c->grid) > 1)
		spatial_text(&c->grid, out);
	else
		buf_puts(out, "whole samples");
}

static const char *reason(const struct search *x, const char *by)
{
	struct buf text = BUF_INIT;
	char a[32], b[32];
	choice_text(&x->best, &text);
	if (cut_parts(&x->best.grid) == 1 && x->fits)
		buf_puts(&text, ", which fit");
	else
		buf_printf(&text, x->fits ? ", the smallest cut over %d ranks that fits" :
		           ", though no cut over %d ranks fits", x->s->nranks);
	buf_printf(&text, ": a rank needs %s of the %s that the %s offers it",
	           bytes_text(x->best.bytes, a), bytes_text(x->have, b), by);
	if (x->fits && x->refused.bytes > 0) {
		buf_puts(&text, "; ");
		choice_text(&x->refused, &text);
		buf_printf(&text, cut_parts(&x->refused.grid) > 1 ? " needs %s" : " need %s",
		           bytes_text(x->refused.bytes, a));
	}
	const char *kept = arena_strdup(x->s->config->arena, text.data);
	buf_release(&text);
	return kept;
}

const char *spatial_choose(struct session *s, struct cut_grid *grid)
{
	struct memory_budget r;
	memory_budget_get(s, &r);
	struct search x = { .s = s, .have = -(double)r.have };
	const int axes = s->data.input.nd - 1;
	if (comm_many(s->comm))
		comm_max(s->comm, &x.have, 1, "the memory of ranks");
	x.have = -x.have;
	const char *whole = why_whole(s, x.have);
	*grid = (struct cut_grid){ 0, { 1, 1, 1 } };
	if (whole)
		return arena_printf(s->config->arena, "whole samples, since %s", whole);
	x.best.grid = *grid;
	for (int parts = 1; parts <= s->nranks && parts <= SPATIAL_MOST && !x.fits; parts++)
		if (s->nranks % parts == 0)
			consider_parts(&x, axes, parts);
	*grid = x.best.grid;
	if (cut_parts(grid) == 1)
		grid->axes = 0;
	return reason(&x, r.by);
}
