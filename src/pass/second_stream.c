/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses nodes for the GPU's second stream. In a small step (of one sample, say) each kernel
 * occupies only a part of the GPU, and the step takes as long as its chain of kernels. Two kinds of
 * nodes need not be in that chain: gradients of weights, which no other node of backward reads, and
 * updates, whose parameters are no longer read. They run on a second stream, in their own order,
 * after everything that was enqueued before them. Their operands are not overwritten until a node
 * of the chain waits for them: the first that reads their outputs or overwrites their operands, at
 * the latest one bundle of updates later, so that only one bundle's operands live longer.
 *
 * On an H100, resnet-50 with one sample: of the 1.70 ms of a step on one stream, gradients of
 * weights take 0.28 and updates 0.19. With the second stream a step takes 1.60 ms, so 0.1 of the
 * predicted 0.4 ms are hidden. For cosmoflow there is no gain. A large step does not benefit: its
 * kernels fill the GPU, and its memory would grow. */
#include "pass/pass.h"

#include "base/mem.h"
#include "graph/cost.h"
#include "graph/view.h"

/* Limits in flops of a step and of a node: at 400 TFLOP/s, which large kernels reach, half a
 * millisecond and 10 microseconds. Larger ones fill the GPU, and keep large operands. */
#define SMALL_STEP 2e11
#define SMALL_NODE 4e9

/* The pending nodes of the second stream, by root tensor: the last one that reads or writes it, and
 * the last one that writes it; NONE: none. */
struct uses {
	const struct graph *g;
	nid *touched, *written;
	nid *aside;                  /* nodes on the second stream, in order; the first ones have been
	                              * waited for */
	int naside, joined;
};

static bool stays(const struct graph *g, tid t)
{
	const enum role role = graph_t(g, graph_root(g, t))->role;
	return role == ROLE_ACTIVATION || role == ROLE_PARAM || role == ROLE_STATE;
}

/* The gradient of a weight that reads the batch itself must run on the main stream, because the
 * next batch is copied into that buffer. An update reads the learning rate, which the host writes
 * only between steps. */
static bool may_be_aside(const struct graph *g, const struct node *n)
{
	if (!(n->op->flags & OP_ASIDE) || !node_runs(g, n) || op_cost(g, n).flops >= SMALL_NODE)
		return false;
	for (int k = 0; k < n->nin && !(n->op->flags & OP_UPDATE); k++)
		if (n->in[k] != NONE && !stays(g, n->in[k]))
			return false;
	return true;
}

/* Makes node i wait for the nodes of the second stream up to `last`. */
static void join(struct uses *u, nid last, nid i)
{
	while (u->joined < u->naside && u->aside[u->joined] <= last)
		u->g->node[u->aside[u->joined++]]->join = i;
}

/* Moves the node to the second stream. */
static void give(struct uses *u, const struct node *n)
{
	for (int k = 0; k < n->nin + n->nout; k++) {
		const tid t = node_operand(n, k);
		const tid root = t == NONE ? NONE : graph_root(u->g, t);
		if (root == NONE)
			continue;
		u->touched[root] = n->id;
		if (k >= n->nin)
			u->written[root] = n->id;
	}
	u->aside[u->naside++] = n->id;
}

/* The last node of the second stream that n must not overtake. */
static nid conflict(const struct uses *u, const struct node *n)
{
	nid last = NONE;
	for (int k = 0; k < n->nin + n->nout; k++) {
		const tid t = node_operand(n, k);
		const tid root = t == NONE ? NONE : graph_root(u->g, t);
		const nid by = root == NONE ? NONE : k < n->nin ? u->written[root] : u->touched[root];
		last = by > last ? by : last;
	}
	return last;
}

static void choose(struct graph *g, struct uses *u)
{
	nid update = NONE;           /* the last on the second stream */
	for (nid i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		if (!may_be_aside(g, n)) {
			join(u, conflict(u, n), i);
			continue;
		}
		if (n->op->flags & OP_UPDATE) {
			join(u, update, i);
			update = i;
		}
		give(u, n);
	}
	join(u, g->nnode, g->nnode);
}

static nid *none(const struct graph *g)
{
	nid *by = mem_alloc(((size_t)g->ntensor + 1) * sizeof *by);
	for (tid t = 0; t < g->ntensor; t++)
		by[t] = NONE;
	return by;
}

int pass_second_stream(struct graph *g, struct pass_env *env)
{
	if (env->backend != BACKEND_CUDA || graph_cost(g, ~0u).flops >= SMALL_STEP)
		return 0;
	struct uses u = { .g = g, .touched = none(g), .written = none(g) };
	u.aside = mem_alloc(((size_t)g->nnode + 1) * sizeof *u.aside);
	choose(g, &u);
	mem_free(u.touched);
	mem_free(u.written);
	mem_free(u.aside);
	return 0;
}
