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
	int n;
	in[0] = scale;
	TRY(bundles_squares(g, b, in + 1, &n));
	return n ? graph_emit1(g, "clip_factor", &at, n + 1, in, factor) : 0; /* or all is frozen */
}

int clip_emit(struct graph *g, double max_norm, const struct bundles *b, tid scale, tid *factor)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	*factor = scale;
	g->cur_phase = PHASE_UPDATE;
	g->cur_name = "clip_norm";
	int rc = emit(g, max_norm, b, scale, factor);
	graph_leave(g, saved);
	return rc;
}
