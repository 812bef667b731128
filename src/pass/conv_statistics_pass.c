/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuses batch statistics into convolutions. A batch norm reads its input twice: once for its mean
 * and variance, and once to normalise it. The convolution that makes the input can compute the
 * statistics while it writes, so that of the norm only the op that applies given statistics
 * remains. Both new nodes are at the positions of the old ones. Convolutions with a bias are left
 * as they are (a bias has no effect before a norm), and so are those with groups, for which cuDNN
 * has no engine. */
#include "pass/pass.h"

#include "base/err.h"
#include "graph/attr.h"
#include "op/conv/conv_fused.h"
#include "pass/rewrite.h"

/* Whether n is a norm that uses the statistics of this rank's batch. */
static bool is_norm(const struct node *n)
{
	return rewrite_is(n, "batch_norm") && !node_meets(n);
}

static bool suits(const struct node *conv, const struct node *norm)
{
	return conv && conv_fused_input(conv, CONV_BIAS_AT) == NONE &&
	       ((const struct conv_attr *)conv->attr)->groups <= 1 && conv->phase == norm->phase &&
	       norm->nout == 4;
}

/* Emits the two new nodes, which make the old nodes' tensors. */
static int split(struct rewrite *r, struct node *conv, struct node *norm)
{
	struct node *made;
	TRY(rewrite_replace(r, conv, "conv_statistics", norm, 2, conv->in, &made));
	rewrite_take(r->g, made, 0, conv->out[0]);
	for (int i = 1; i < 4; i++)
		rewrite_take(r->g, made, i, norm->out[i]);
	const tid *s = made->out;
	const tid in[] = { s[0], norm->in[1], norm->in[2], s[1], s[2], conv_fused_input(norm, 3) };
	TRY(rewrite_replace(r, norm, "batch_norm_apply", NULL, 6, in, &made));
	rewrite_take(r->g, made, 0, norm->out[0]);
	return 0;
}

int pass_conv_statistics(struct graph *g, struct pass_env *env)
{
	struct rewrite r;
	int rc = 0;
	if (env->backend != BACKEND_CUDA)
		return 0;
	rewrite_begin(&r, g);
	for (int i = 0; i < r.nnode && rc == 0; i++) {
		struct node *norm = g->node[i];
		struct node *conv = is_norm(norm) ? rewrite_made_by(g, norm->in[0], "conv") : NULL;
		if (suits(conv, norm))
			rc = split(&r, conv, norm);
	}
	return rewrite_commit(&r, rc);
}
