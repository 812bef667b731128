/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The next batch travels to a GPU while a step runs, so there are two places for it and a copy from
 * one to the other: but not where all that reads the batch has run when the step has hardly begun,
 * as a cast, a reorder or normalize_input whose output is what the network reads. These nodes are
 * the intake. They run before the captured graph of the others (backend/exec.c), and after them
 * the next batch travels right to where they have read this one.
 *
 * That saves the second place, and the copy, which reads and writes the batch. Predicted for an
 * H100 (3.0 TB/s), and not measured: in cosmoflow, 16 samples of 4 x 128^3 values in float32, 0.36
 * of 11.8 ms a step, and 0.5 of 3.7 GiB; in fcn, whose batch is 1 GiB, 0.7 of 80 ms, and 1 of 9.3
 * GiB. */
#include "pass/pass.h"

#include "graph/attr.h"
#include "graph/view.h"

/* In the published networks one node reads the batch, and nothing is before it but, under a memory
 * limit, the cast of a weight. Each node is a launch of its own, some 4 us of the host, and until
 * the last of them has run the next batch waits. */
#define MOST 4

static bool may_be_first(const struct node *n)
{
	return n->phase == PHASE_FORWARD && !(n->op->flags & (OP_UPDATE | OP_BEGINS | OP_AWAITS)) &&
	       !node_meets(n);
}

/* The node after those that may be the intake. Nodes of OP_SETUP are no part of a step. */
static nid end_of_first(const struct graph *g)
{
	nid i = 0;
	for (int n = 0; i < g->nnode; i++) {
		if (g->node[i]->op->flags & OP_SETUP || !node_runs(g, g->node[i]))
			continue;
		if (n++ == MOST || !may_be_first(g->node[i]))
			break;
	}
	return i;
}

static bool reads(const struct graph *g, const struct node *n, tid t)
{
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] != NONE && graph_root(g, n->in[k]) == t)
			return true;
	return false;
}

/* Whether a node of i and on reads the storage of t. */
static bool read_from(const struct graph *g, nid i, tid t)
{
	for (; i < g->nnode; i++)
		if (reads(g, g->node[i], t))
			return true;
	return false;
}

int pass_intake(struct graph *g, struct pass_env *env)
{
	const nid end = end_of_first(g);
	(void)env;
	for (tid t = 0; t < g->ntensor; t++) {
		struct tensor *x = graph_t(g, t);
		x->read_first = x->prefetched && read_from(g, 0, t) && !read_from(g, end, t);
	}
	return 0;
}
