/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass runs between the building of the graph and its differentiation. */
#include "plan/spatial/plan_cut.h"

#include "base/err.h"
#include "graph/attr.h"
#include "op/lib/emit.h"
#include "pass/partition.h"
#include "pass/rewrite.h"
#include "pass/sync_batch_norm.h"
#include "plan/compilation.h"

static int check_axes(const struct graph *g, tid input, const struct cut_grid *grid)
{
	const int axes = graph_t(g, input)->shape.nd - 2;
	struct buf text = BUF_INIT;
	if (axes == grid->axes)
		return 0;
	spatial_text(grid, &text);
	const int rc = ERR(E_CONFIG, &g->cur_loc, "'spatial' %s is for samples with %d spatial ax%s; "
	                   "these have %d", text.data, grid->axes, grid->axes == 1 ? "is" : "es",
	                   axes < 0 ? 0 : axes);
	buf_release(&text);
	return rc;
}

void spatial_text(const struct cut_grid *grid, struct buf *out)
{
	for (int k = 0; k < grid->axes; k++)
		buf_printf(out, "%s%d", k ? ", " : "[", grid->parts[k]);
	buf_puts(out, "]");
}

/* --- the pass --- */

/* The params that the loss depends on in the graph of the whole sample. */
static void note_live(const struct graph *g, struct compilation *c)
{
	bool *live = ARENA_ARRAY(g->arena, bool, g->ntensor);
	live[c->loss.loss] = true;
	for (int i = g->nnode; i-- > 0;) {
		const struct node *n = g->node[i];
		bool any = false;
		for (int o = 0; o < n->nout; o++)
			any |= n->out[o] != NONE && live[n->out[o]];
		for (int k = 0; k < n->nin && any; k++)
			if (n->in[k] != NONE)
				live[n->in[k]] = true;
	}
	c->live = live;
}

static void note_metrics(const struct cut *cut, struct plan *p)
{
	for (int i = 0; i < p->nmetric; i++)
		p->metric_once[i] = cut->tensor[p->metric[i]].once;
}

int plan_pass_partition(struct graph *g, struct pass_env *env)
{
	struct compilation *c = env->user;
	const struct plan_cut *at = &c->r->cut;
	const bool predict = c->p->mode == PLAN_PREDICT;
	struct partition p = { at->grid, at->subdomain, 0, c->input, predict ? NONE : c->target,
		c->output };
	struct cut *cut = ARENA_NEW(g->arena, struct cut);
	if (at->grid.axes == 0)
		return 0;
	g->cur_loc = *config_place(c->r->config, "parallel", "spatial");
	TRY(check_axes(g, c->input, &at->grid));
	if (c->p->mode == PLAN_TRAIN)
		note_live(g, c);
	TRY(partition_graph(g, &p, cut));
	note_metrics(cut, c->p);
	c->p->cut = cut;
	c->p->subdomain = at->subdomain;
	if (!predict)
		return 0;
	graph_t(g, c->output)->output = false;
	TRY(partition_gather(g, &p, cut, c->output, &c->output));
	graph_t(g, c->output)->output = true;
	ports_set(&c->p->out, "output", c->output);
	return 0;
}

int plan_cut_zero_grads(struct graph *g, struct compilation *c)
{
	struct plan *p = c->p;
	for (int i = 0; i < p->nparam && c->live; i++) {
		if (p->grad[i] != NONE || !c->live[p->param[i]])
			continue;
		g->cur_phase = PHASE_BACKWARD;
		g->cur_name = graph_t(g, p->param[i])->name;
		TRY(emit_fill(g, 0, &graph_t(g, p->param[i])->shape, &p->grad[i]));
	}
	return 0;
}

/* Sums over positions are those of one sample's ranks. With a larger group of sync_batch_norm all
 * sums are over that group, so there may be no others. */
int plan_cut_statistics(struct graph *g, const struct compilation *c)
{
	const bool wide = c->p->mode == PLAN_TRAIN &&
	                  c->r->ranks.sync_group > cut_parts(&c->r->cut.grid);
	for (int i = 0; i < g->nnode && wide; i++) {
		const struct node *n = g->node[i];
		if (node_meets(n) && !rewrite_is(n, "batch_norm") && !rewrite_is(n, "batch_norm_grad"))
			return ERR(E_UNSUPPORTED, config_place(c->r->config, "parallel", "sync_batch_norm"),
			           "'sync_batch_norm' over several samples is not possible with "
			           "'parallel.spatial' here, since layer '%s' (%s) sums over one sample",
			           n->name, n->op->name);
	}
	sync_batch_norm_emit(g, c->p->mean.share, wide);
	return 0;
}

/* --- windows --- */

static struct loader_window window_of(const struct cut *c, tid t, int subdomain)
{
	struct loader_window w = { 0 };
	int place[CUT_AXES];
	if (t == NONE || !c->tensor[t].rows)
		return w;
	w.axes = c->grid.axes;
	cut_place(&c->grid, subdomain, place);
	for (int k = 0; k < w.axes; k++) {
		const struct cut_rows r = cut_rows(c, t, k, place[k]);
		w.begin[k] = r.lo;
		w.size[k] = r.hi - r.lo;
	}
	return w;
}

static int find_cut(struct cut *c, const struct plan *p, const struct plan_request *r)
{
	const tid in = plan_in(p, "input");
	p->g->cur_loc = *config_place(r->config, "parallel", "spatial");
	TRY(check_axes(p->g, in, &r->cut.grid));
	return cut_find(c, p->g->arena, p->g, in, plan_in(p, "target"), plan_out(p, "output"),
	                &r->cut.grid);
}

int plan_cut_windows(const struct plan_request *r, struct loader_window *input,
                     struct loader_window *target)
{
	struct plan *p;
	struct cut c;
	TRY(plan_outline(&p, r));
	int rc = find_cut(&c, p, r);
	if (rc == 0) {
		*input = window_of(&c, plan_in(p, "input"), r->cut.subdomain);
		*target = window_of(&c, plan_in(p, "target"), r->cut.subdomain);
	}
	plan_free(p);
	return rc;
}

/* --- the subdomain that is described --- */

static int64_t width(const struct cut *c, int k, int j)
{
	return c->bound[k][j + 1] - c->bound[k][j];
}

/* The part with the most rows, of those this far from the border. */
static int widest_part(const struct cut *c, int k, int border)
{
	const int parts = c->grid.parts[k];
	int best = border;
	for (int j = border; j < parts - border; j++)
		if (width(c, k, j) > width(c, k, best))
			best = j;
	return best;
}

int plan_cut_typical(const struct plan_request *r, int *subdomain, int *largest)
{
	const int *parts = r->cut.grid.parts;
	struct plan *p;
	struct cut c;
	TRY(plan_outline(&p, r));
	int rc = find_cut(&c, p, r);
	*subdomain = *largest = 0;
	for (int k = 0; k < r->cut.grid.axes && rc == 0; k++) {
		*subdomain = *subdomain * parts[k] + widest_part(&c, k, parts[k] > 2);
		*largest = *largest * parts[k] + widest_part(&c, k, 0);
	}
	plan_free(p);
	return rc;
}
