/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The partial sum of level l is a state NAME.sum_l. After the last leaf the highest level contains
 * the rank's sum. */
#include "plan/sums/micro_sums.h"

#include <string.h>

#include "base/err.h"
#include "op/lib/emit.h"
#include "op/update/update.h"

int micro_sums_begin(struct graph *g, int64_t leaves, struct micro_sums *out)
{
	struct shape s = { 1, { SUM_VALUES } };
	*out = (struct micro_sums){ .inverse = NONE };
	do
		out->levels++;
	while ((leaves - 1) >> out->levels);
	return graph_input(g, "leaf", DTYPE_I64, &s, &out->place);
}

static int level_state(struct graph *g, tid base, int level, tid *out)
{
	const struct tensor *t = graph_t(g, base);
	TRY(graph_state(g, arena_printf(g->arena, "%s.sum_%d", t->name, level), t->dtype, &t->shape,
	                (struct init){ INIT_CONSTANT, 0 }, out));
	graph_t(g, *out)->use = STATE_OF_STEP;
	graph_t(g, *out)->grad_of = t->role == ROLE_PARAM ? base : NONE;
	return 0;
}

/* value[i], of the shape and under the name of base[i], become the sums. */
static int emit(struct graph *g, const struct micro_sums *s, bool all, int n, const tid *base,
                tid *value)
{
	tid *in = ARENA_ARRAY(g->arena, tid, 1 + 2 * n);
	in[0] = s->place;
	for (int l = 0; l < s->levels; l++) {
		struct accumulate_attr at = { l, all };
		for (int i = 0; i < n; i++) {
			TRY(level_state(g, base[i], l, &in[1 + 2 * i]));
			in[2 + 2 * i] = value[i];
		}
		TRY(graph_emit(g, "accumulate", &at, 1 + 2 * n, in, n, value));
	}
	return 0;
}

int micro_sums_gradients(struct graph *g, const struct micro_sums *s, struct bundles *b)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	int rc = 0;
	g->cur_phase = PHASE_BACKWARD;
	for (int k = 0; k < b->n && rc == 0; k++) {
		bundles_enter(g, b, k, ".sum");
		rc = emit(g, s, false, b->first[k + 1] - b->first[k], b->param + b->first[k],
		          b->grad + b->first[k]);
	}
	graph_leave(g, saved);
	return rc;
}

int micro_sums_terms(struct graph *g, const struct micro_sums *s, tid *terms)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	tid base = graph_root(g, *terms);
	g->cur_phase = PHASE_BACKWARD;
	int rc = emit(g, s, true, 1, &base, terms);
	graph_leave(g, saved);
	return rc;
}

/* --- running statistics --- */

static int find_followers(const struct graph *g, struct node **out)
{
	int n = 0;
	for (int i = 0; i < g->nnode; i++)
		if (strcmp(g->node[i]->op->name, "ema_update") == 0)
			out[n++] = g->node[i];
	return n;
}

static int emit_means(struct graph *g, struct micro_sums *s, const struct buckets *k, int n,
                      const tid *base, tid *value)
{
	struct shape scalar = { 0 };
	g->cur_name = "batch_statistics";
	g->cur_phase = PHASE_BACKWARD;
	TRY(emit(g, s, false, n, base, value));
	g->cur_phase = PHASE_UPDATE;
	if (k)
		TRY(buckets_emit_more(g, k->n + 1, n, base, value));
	TRY(graph_input(g, "leaf_share", DTYPE_F32, &scalar, &s->inverse));
	for (int i = 0; i < n; i++)
		TRY(graph_emit1(g, "scale_by", NULL, 2, (tid[]){ value[i], s->inverse }, &value[i]));
	return 0;
}

/* The factor that makes a variance that of a sample depends
 * on the leaf's size, so it is applied before the sum. */
static int take_factor(struct graph *g, struct node *follower, tid *value)
{
	struct ema_update_attr *at = follower->attr;
	struct graph_context saved = graph_enter(g, follower);
	int rc = emit_scale(g, *value, at->factor, 0, value);
	at->factor = 1;
	graph_leave(g, saved);
	return rc;
}

/* The nodes stay, and move to the update. */
int micro_sums_statistics(struct graph *g, struct micro_sums *s, const struct buckets *k)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	struct node **node = ARENA_ARRAY(g->arena, struct node *, g->nnode);
	int n = find_followers(g, node), rc;
	tid *base = ARENA_ARRAY(g->arena, tid, n), *value = ARENA_ARRAY(g->arena, tid, n);
	if (n == 0)
		return 0;
	for (int i = 0; i < n; i++) {
		base[i] = node[i]->in[0];
		value[i] = node[i]->in[1];
		TRY(take_factor(g, node[i], &value[i]));
	}
	rc = emit_means(g, s, k, n, base, value);
	graph_leave(g, saved);
	TRY(rc);
	for (int i = 0; i < n; i++) {
		node[i]->in[1] = value[i];
		node[i]->phase = PHASE_UPDATE;
	}
	graph_sort(g);
	return 0;
}
