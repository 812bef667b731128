/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuses batch statistics into convolutions. A batch norm reads its input twice, once for its mean
 * and variance and once to normalise it. The convolution that makes the input can compute the
 * statistics while it writes; the op that applies given statistics is left of the norm. Both new
 * nodes replace the old ones in place. Convolutions with a bias stay (a bias has no use before a
 * norm), and so do those with groups, for which cuDNN has no engine. */
#include "pass/moments.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "op/conv/conv_fused.h"
#include "pass/replace.h"

/* The op that applies given statistics in place of this norm; NULL: n is no norm. */
static const char *again_of(const struct node *n)
{
	if (strcmp(n->op->name, "batch_norm") == 0)
		return "batch_norm_again";
	return strcmp(n->op->name, "batch_norm_relu") == 0 ? "batch_norm_relu_again" : NULL;
}

static bool suits(const struct node *conv, const struct node *norm)
{
	const struct conv_attr *at = conv->attr;
	return strcmp(conv->op->name, "conv") == 0 && conv_fused_input(conv, CONV_BIAS_AT) == NONE && at->groups <= 1 &&
	       conv->phase == norm->phase && norm->nout == 4;
}

/* Emits the two new nodes, which make the old nodes' tensors. */
static int rewrite(struct graph *g, struct node *conv, struct node *norm, struct node *made[2])
{
	const tid residual = conv_fused_input(norm, 3);
	TRY(replace_emit(g, conv, "conv_statistics", norm, 2, conv->in, &made[0]));
	replace_output(g, made[0], 0, conv->out[0]);
	for (int i = 1; i < 4; i++)
		replace_output(g, made[0], i, norm->out[i]);
	const tid *s = made[0]->out, in[] = { s[0], norm->in[1], norm->in[2], s[1], s[2], residual };
	TRY(replace_emit(g, norm, again_of(norm), NULL, residual == NONE ? 5 : 6, in, &made[1]));
	replace_output(g, made[1], 0, norm->out[0]);
	conv->nout = norm->nout = 0;
	return 0;
}

int pass_moments(struct graph *g, struct pass_env *env)
{
	const int n = g->nnode;
	int rc = 0, done = 0;
	if (env->backend != BACKEND_CUDA)
		return 0;
	struct node **order = mem_alloc(sizeof *order * ((size_t)n + 1));
	memcpy(order, g->node, sizeof *order * (size_t)n);
	for (int i = 0; i < n && rc == 0; i++) {
		struct node *norm = order[i], *made[2];
		const nid by = again_of(norm) ? graph_t(g, norm->in[0])->producer : NONE;
		if (by == NONE || by >= n || order[by] != g->node[by] || !suits(order[by], norm))
			continue;
		rc = rewrite(g, order[by], norm, made);
		order[by] = made[0];
		order[i] = made[1];
		done++;
	}
	if (rc == 0 && done)
		graph_reorder(g, order, n);
	mem_free(order);
	return rc;
}
