/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clipping by the norm of all gradients together: a sum of squares for each, then one factor that
 * every update multiplies its gradient by (grad_scale of optim_emit). */
#include "base/err.h"
#include "model/op_attr.h"
#include "optim/optim.h"

static int emit(struct graph *g, double max_norm, int n, const tid *grad, tid *factor)
{
	struct op_attr t = op_attr_new(g->arena, "clip_factor");
	tid *square = ARENA_ARRAY(g->arena, tid, n);
	op_attr_float(&t, "max_norm", max_norm);
	for (int i = 0; i < n; i++)
		TRY(graph_emit1(g, "sum_squares", NULL, 1, &grad[i], &square[i]));
	return graph_emit1(g, "clip_factor", t.data, n, square, factor);
}

int clip_emit(struct graph *g, double max_norm, int n, const tid *grad, tid *factor)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	g->cur_phase = PHASE_UPDATE;
	g->cur_name = "clip_norm";
	int rc = emit(g, max_norm, n, grad, factor);
	graph_leave(g, saved);
	return rc;
}
