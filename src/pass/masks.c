/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gradient of y = relu(x) normally reads y for its mask, so that x need not be kept. In a dense
 * network x is kept anyway: it is part of the buffer in which a block, and its skip connection to
 * the other side of the network, is concatenated. Then the mask can be read from x, which is
 * positive exactly where y is, and y is kept only until the gradient of the weights of the
 * convolution that reads it, which precedes the gradient of that convolution's input. At the peak
 * of fcn (configs/fcn-pool-avg.yaml, 512 x 512, bf16) y has 0.54 of 4.4 GB of activations.
 *
 * A gradient is changed only if a step then needs less memory: x's buffer must live longer than the
 * gradient, and no later node may read y's buffer. */
#include "pass/pass.h"

#include "base/mem.h"
#include "graph/deps.h"
#include "graph/layout_rule.h"
#include "pass/rewrite.h"

enum { FUSED_AT = 4 };       /* of conv_grad_input_relu */

/* The operand of n that is read only for the sign of a ReLU's output; NONE: there is none. */
static int mask_at(const struct node *n)
{
	if (rewrite_is(n, "relu_grad") || rewrite_is(n, "leaky_relu_grad"))
		return 0;
	return rewrite_is(n, "conv_grad_input_relu") ? FUSED_AT : NONE;
}

static const struct node *find_relu(const struct graph *g, tid y)
{
	const struct node *n = rewrite_producer(g, y);
	return rewrite_is(n, "relu") || rewrite_is(n, "leaky_relu") ? n : NULL;
}

/* Whether n's kernel accepts x in place of y for that operand. */
static bool suits(const struct graph *g, const struct node *n, int at, tid x, tid y)
{
	const struct tensor *of = graph_t(g, x), *instead = graph_t(g, y);
	if (of->role != ROLE_ACTIVATION || of->producer == NONE || of->dtype != instead->dtype)
		return false;
	return view_is_strided(of) ? kernel_takes_view(g, n, g->backend, false, at) :
	       !view_is_strided(instead) && layout_equal(&of->layout, &instead->layout);
}

int pass_masks(struct graph *g, struct pass_env *env)
{
	nid *last = graph_last_use(g);
	(void)env;
	for (nid i = 0; i < g->nnode; i++) {
		struct node *n = g->node[i];
		const int at = mask_at(n);
		const tid y = at == NONE ? NONE : n->in[at];
		const struct node *relu = find_relu(g, y);
		if (!relu || last[graph_root(g, y)] != i || last[graph_root(g, relu->in[0])] <= i)
			continue;
		if (suits(g, n, at, relu->in[0], y))
			n->in[at] = relu->in[0];
	}
	mem_free(last);
	return 0;
}
