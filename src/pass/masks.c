/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gradient of y = relu(x) reads y for its mask, since x need not be kept then. In a dense
 * network x is kept all the same: it is a window of the buffer in which a block, and what skips to
 * the other side of the network, is concatenated. Then the mask is read from x, which is above zero
 * where y is, and y is kept no longer than for the gradient to the weights of the convolution that
 * reads it, which the order has before the one to its input. At the peak of fcn (configs/
 * fcn-pool-avg.yaml, 512 x 512, bf16) y has 0.54 of 4.4 GB of activations.
 *
 * Only what a step needs less memory for is changed: x's buffer lives longer than the gradient, and
 * nothing that runs later reads y's. */
#include "pass/pass.h"

#include "base/mem.h"
#include "graph/deps.h"
#include "graph/layout_rule.h"
#include "pass/rewrite.h"

enum { FUSED_AT = 4 };       /* of conv_grad_input_relu */

/* Which operand of n is read for the sign of what a ReLU made; NONE: there is none. */
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

/* Whether n's kernel reads x as well as y there. */
static bool suits(const struct graph *g, const struct node *n, int at, tid x, tid y)
{
	const struct tensor *of = graph_t(g, x), *instead = graph_t(g, y);
	if (of->role != ROLE_ACTIVATION || of->producer == NONE || of->dtype != instead->dtype)
		return false;
	return of->view == NONE ? instead->view == NONE && layout_equal(&of->layout, &instead->layout) :
	       kernel_takes_view(g, n, g->backend, false, at);
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
