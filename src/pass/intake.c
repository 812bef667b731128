/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the intake: the nodes of a step that read the batch, if they all run at its very beginning.
 *
 * The next batch is copied to a GPU while a step runs. In general this needs two buffers on the
 * GPU, and a copy from one to the other. It does not if all readers of the batch have run when the
 * step has only just begun: for instance a cast, a reorder or normalize_input whose output is what
 * the network reads. These nodes, the intake, run before the captured graph of the other nodes
 * (backend/exec.c). After them the next batch is copied directly into the buffer that they have
 * read.
 *
 * This saves the second buffer, and the copy, which reads and writes the batch. Predicted for an
 * H100 (3.0 TB/s), and not measured: in cosmoflow, 16 samples of 4 x 128^3 values in float32, 0.36
 * of 11.8 ms a step, and 0.5 of 3.7 GiB; in fcn, whose batch is 1 GiB, 0.7 of 80 ms, and 1 of 9.3
 * GiB. */
#include "pass/pass.h"

#include "graph/attr.h"
#include "graph/view.h"

/* In the published networks one node reads the batch, and only the cast of a weight, under a memory
 * limit, precedes it. Each node is a separate launch, which costs the host about 4 us, and the next
 * batch waits until the last of them has run. */
#define MOST 4

static bool may_be_first(const struct node *n)
{
	return n->phase == PHASE_FORWARD && !(n->op->flags & (OP_UPDATE | OP_BEGINS | OP_AWAITS)) &&
	       !node_meets(n);
}

/* The index of the node after those that may belong to the intake. Nodes flagged OP_SETUP are not
 * part of a step. */
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
