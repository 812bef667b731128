/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With means L1 over a weight W1 and L2 over W2 (labels that are ignored do not count, classes may
 * have weights), the loss is
 *
 *     (s W1 L1 + (1 - s) W2 L2) / W,    W = s W1 + (1 - s) W2,
 *
 * which is s L1 + (1 - s) L2 if both weights are one. W is the weight with which means of batches
 * are combined. */
#include "plan/batch/mixed_loss.h"

#include "base/err.h"
#include "op/lib/emit.h"
#include "plan/batch/scaled_target.h"
#include "plan/batch/stored_batch.h"

static int add(struct graph *g, tid a, tid b, tid *out)
{
	return graph_emit1(g, "add", NULL, 2, (tid[]){ a, b }, out);
}

static int mix(struct graph *g, tid share, const struct loss_out *second, struct loss_out *loss)
{
	tid rest, w1, w2, n1, n2, n, w, d;
	TRY(emit_scale(g, share, -1, 1, &rest));
	TRY(emit_mul(g, share, loss->weight, &w1));
	TRY(emit_mul(g, rest, second->weight, &w2));
	TRY(emit_mul(g, w1, loss->loss, &n1));
	TRY(emit_mul(g, w2, second->loss, &n2));
	TRY(add(g, n1, n2, &n));
	TRY(add(g, w1, w2, &w));
	TRY(emit_scale(g, w, 1, 1e-30, &d));      /* where nothing counts, the loss is 0 */
	TRY(emit_div(g, n, d, &loss->loss));
	loss->weight = w;
	return 0;
}

int mixed_loss_emit(struct graph *g, struct compilation *c)
{
	const struct plan_request *r = c->r;
	const struct tensor *first = graph_t(g, c->target);
	const struct shape shape = first->shape, scalar = { 0 };
	struct loss_out second;
	tid target, share, truth, scaled;
	if (c->p->mode != PLAN_TRAIN || !mixup_wanted(&r->config->data.mixup))
		return 0;
	TRY(graph_input(g, "mixup_target", first->dtype, &shape, &target));
	TRY(graph_input(g, "mixup_share", DTYPE_F32, &scalar, &share));
	TRY(stored_batch_target(g, r, target, &truth));
	TRY(scaled_target_emit(g, r, truth, &scaled));
	g->cur_name = "loss/mixup";
	TRY(loss_emit(g, r->objective->loss, c->output, scaled, r->data->ignore, r->data->class_counts,
	              &second));
	return mix(g, share, &second, &c->loss);
}
