/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Running statistics are updated in the forward phase, before the guard decides. So they are
 * updated even if the step is skipped, as with loss scaling, but values that are not finite are
 * ignored. */
#include "plan/guard.h"

#include <string.h>

#include "base/err.h"
#include "op/update/update.h"

bool guard_wanted(const struct run_config *c)
{
	return c->train.on_nonfinite == NONFINITE_SKIP || config_skips_outliers(c);
}

/* Statistics that are not finite would stay so for ever. */
static void guard_statistics(struct graph *g)
{
	for (int i = 0; i < g->nnode; i++)
		if (strcmp(g->node[i]->op->name, "ema_update") == 0)
			((struct ema_update_attr *)g->node[i]->attr)->finite = true;
}

/* One value for each bundle of gradients. */
static int emit_maxima(struct graph *g, const struct bundles *b, tid *out)
{
	for (int k = 0; k < b->n; k++)
		TRY(graph_emit1(g, "max_abs", NULL, b->first[k + 1] - b->first[k], b->grad + b->first[k],
		                &out[k]));
	return 0;
}

static int emit(struct graph *g, struct compilation *c, const struct bundles *b,
                struct optim_input *in)
{
	const struct run_config *config = c->r->config;
	const struct outliers_section *o = &config->train.skip_outliers;
	const struct mean *mean = &c->p->mean;
	const int64_t window = config_skips_outliers(config) ? o->window : 0;
	const struct shape s = { 1, { GUARD_TOLD + 2 * window } };
	struct step_guard_attr at = { .finite = config->train.on_nonfinite == NONFINITE_SKIP,
		.sum = mean->sum, .loss = o->loss, .gradient = o->gradient };
	tid *arg = ARENA_ARRAY(g->arena, tid, 5 + 2 * b->n), out[3];
	int n = 5, squares;
	TRY(graph_state(g, GUARD_STATE, DTYPE_F32, &s, (struct init){ INIT_CONSTANT, 0 }, &arg[0]));
	arg[1] = in->step;
	arg[2] = mean->terms != NONE ? mean->terms : c->loss.loss;
	arg[3] = in->apply;
	arg[4] = in->grad_scale;
	if (at.finite && in->apply == NONE) {    /* else loss scaling looks at the gradients */
		TRY(emit_maxima(g, b, arg + n));
		at.maxima = b->n;
		n += b->n;
	}
	if (window) {
		TRY(bundles_squares(g, b, arg + n, &squares));
		n += squares;
	}
	TRY(graph_emit(g, "step_guard", &at, n, arg, 3, out));
	c->guard = out[0];
	in->apply = out[1];
	in->step = out[2];
	if (at.finite)
		guard_statistics(g);
	return 0;
}

int guard_emit(struct graph *g, struct compilation *c, const struct bundles *b,
               struct optim_input *in)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	g->cur_phase = PHASE_UPDATE;
	g->cur_name = GUARD_STATE;
	g->cur_loc = *config_place(c->r->config, "train", NULL);
	int rc = emit(g, c, b, in);
	graph_leave(g, saved);
	return rc;
}
