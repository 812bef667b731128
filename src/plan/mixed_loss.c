/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With means L1 over a weight W1 and L2 over W2 (labels that are ignored do not count, classes may
 * have weights), the loss is
 *
 *     (s W1 L1 + (1 - s) W2 L2) / W,    W = s W1 + (1 - s) W2,
 *
 * s L1 + (1 - s) L2 where both weights are one. W is what means of batches are combined by. */
#include "plan/mixed_loss.h"

#include "base/err.h"
#include "op/lib/emit.h"
#include "plan/scaled_target.h"
#include "plan/stored_batch.h"

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

int mixed_loss_emit(struct graph *g, const struct plan_request *r, struct plan *p,
                    struct loss_out *loss)
{
	const struct tensor *first = graph_t(g, p->target);
	const struct shape shape = first->shape, scalar = { 0 };
	struct loss_out second;
	tid truth;
	if (p->mode != PLAN_TRAIN || !mixup_wanted(&r->config->data.mixup))
		return 0;
	TRY(graph_input(g, "mixup_target", first->dtype, &shape, &p->other));
	TRY(graph_input(g, "mixup_share", DTYPE_F32, &scalar, &p->mixup));
	TRY(stored_batch_target(g, r, p->other, &truth));
	TRY(scaled_target_emit(g, r, truth, &truth));
	g->cur_name = "loss/mixup";
	TRY(loss_emit(g, &r->config->loss, p->output, truth, r->data->ignore, r->data->class_counts,
	              &second));
	return mix(g, p->mixup, &second, loss);
}

int mixed_loss_feed(const struct plan *p, const struct batch *b)
{
	if (p->other == NONE)
		return 0;
	TRY(exec_write(p->exec, p->other, b->target_dtype, b->other));
	return exec_write(p->exec, p->mixup, DTYPE_F64, &b->share);
}
