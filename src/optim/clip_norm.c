/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clipping by the norm of all gradients together: a sum of squares for each bundle, then one factor
 * that every update multiplies its gradients by (grad_scale of optim_emit). */
#include "base/err.h"
#include "op/update/update.h"
#include "optim/optim.h"

static int emit(struct graph *g, double max_norm, const struct bundles *b, tid scale, tid *factor)
{
	struct clip_factor_attr at = { max_norm };
	tid *in = ARENA_ARRAY(g->arena, tid, b->n + 1);
	in[0] = scale;
	for (int k = 0; k < b->n; k++)
		TRY(graph_emit1(g, "sum_squares", NULL, b->first[k + 1] - b->first[k],
		                b->grad + b->first[k], &in[k + 1]));
	return graph_emit1(g, "clip_factor", &at, b->n + 1, in, factor);
}

int clip_emit(struct graph *g, double max_norm, const struct bundles *b, tid scale, tid *factor)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	*factor = scale;
	if (b->n == 0)                 /* all is frozen */
		return 0;
	g->cur_phase = PHASE_UPDATE;
	g->cur_name = "clip_norm";
	int rc = emit(g, max_norm, b, scale, factor);
	graph_leave(g, saved);
	return rc;
}
