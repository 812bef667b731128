/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses the order of execution in two phases, each of which can only shorten the lives of
 * tensors.
 *
 * Hoist: forward and backward keep the order in which they were emitted, that of the layers and its
 * reverse. Updates (and the accumulation of gradients) move up to where their inputs are ready and
 * every other reader of the state has run: the gradient is used while it is in the cache, and its
 * memory is free for the rest of backward. With gradient accumulation, forward and backward run
 * several times before one update, so the update phase stays at the end; without it the phases
 * interleave and must be run in one traversal.
 *
 * Sink: a node whose inputs stay alive anyway moves down to its first use, so that its output takes
 * no memory before. Weight-decay terms and constants need this after hoisting.
 *
 * List scheduling that prefers nodes which free more than they allocate was tried and rejected: on
 * U-shaped dense networks the peak does not change (309 MiB of 309 for configs/coads-fcn.yaml). */
#include <limits.h>

#include "base/mem.h"
#include "graph/attr.h"
#include "graph/deps.h"
#include "op/exchange.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

/* Whether the update is a separate phase, because forward and backward run several times before it,
 * or because it waits for other ranks. */
static bool two_phases(const struct graph *g)
{
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		if (rewrite_is(n, "accumulate") || (n->phase == PHASE_UPDATE && (n->op->flags & OP_AWAITS)))
			return true;
	}
	return false;
}

/* Ready nodes of smaller rank come first. On a GPU, messages are received where they are sent, so
 * those nodes keep the order in which they were emitted, which is the same on all ranks. */
static int64_t rank_of(const struct node *n, bool apart, bool gpu)
{
	if (gpu && exchange_sends(n))
		return 0;
	if (n->op->flags & OP_BEGINS)
		return -1;
	if (n->phase == PHASE_UPDATE && (n->op->flags & OP_AWAITS))
		return 2;
	if (n->phase == PHASE_UPDATE && apart)
		return 1;
	return n->phase == PHASE_UPDATE || (n->op->flags & OP_UPDATE) ? -1 : 0;
}

/* A sum begins as early as it can: nodes of the update that it needs, such as a reorder of a
 * gradient, come first, too. */
static void hurry(const struct graph *g, int64_t *rank)
{
	for (int i = g->nnode - 1; i >= 0; i--) {
		const struct node *n = g->node[i];
		for (int k = 0; k < n->nin && rank[i] < 0; k++) {
			const int from = n->in[k] == NONE ? NONE : g->tensor[n->in[k]]->producer;
			if (from != NONE && g->node[from]->phase == PHASE_UPDATE && rank[from] == 1)
				rank[from] = -1;
		}
	}
}

static void hoist(struct graph *g, bool apart, bool gpu)
{
	int64_t *rank = mem_alloc(((size_t)g->nnode + 1) * sizeof *rank);
	for (int i = 0; i < g->nnode; i++)
		rank[i] = rank_of(g->node[i], apart, gpu);
	hurry(g, rank);
	graph_sort_by(g, rank);
	mem_free(rank);
}

/* Nodes that sink gather before a node that does not, in their old order. */
struct sink {
	struct graph *g;
	struct deps d;
	int *anchor;                 /* by node: the node that it is moved before; itself if it stays */
	int *last;                   /* by root tensor: largest anchor of its readers seen so far */
};

/* The first node or anchor after node i that depends on it; i if there is none. */
static int first_use(const struct sink *s, int i)
{
	int at = INT_MAX;
	for (int k = s->d.first[i]; k < s->d.first[i + 1]; k++)
		if (s->anchor[s->d.succ[k]] < at)
			at = s->anchor[s->d.succ[k]];
	return at == INT_MAX ? i : at;
}

/* Whether node i can move down to `at` without keeping any input longer. */
static bool may_sink(const struct sink *s, int i, int at)
{
	const struct graph *g = s->g;
	const struct node *n = g->node[i];
	if (at == i || (n->op->flags & (OP_UPDATE | OP_NODCE)) || node_meets(n) ||
	    (n->phase == PHASE_UPDATE) != (g->node[at]->phase == PHASE_UPDATE))
		return false;
	for (int k = 0; k < n->nin; k++) {
		tid root = n->in[k] == NONE ? NONE : graph_root(g, n->in[k]);
		if (root != NONE && g->tensor[root]->role == ROLE_ACTIVATION && s->last[root] < at)
			return false;
	}
	return true;
}

static void sink_node(struct sink *s, int i)
{
	const struct graph *g = s->g;
	const struct node *n = g->node[i];
	int at = first_use(s, i);
	s->anchor[i] = may_sink(s, i, at) ? at : i;
	for (int k = 0; k < n->nin; k++) {
		tid root = n->in[k] == NONE ? NONE : graph_root(g, n->in[k]);
		if (root != NONE && s->last[root] < s->anchor[i])
			s->last[root] = s->anchor[i];
	}
}

static void sink(struct graph *g)
{
	struct sink s = { .g = g };
	struct rewrite r;
	deps_build(&s.d, g);
	s.anchor = mem_alloc(((size_t)g->nnode + 1) * sizeof *s.anchor);
	s.last = mem_alloc(((size_t)g->ntensor + 1) * sizeof *s.last);
	for (int t = 0; t < g->ntensor; t++)
		s.last[t] = NONE;
	for (int t = 0; t < g->ntensor; t++)
		if (g->tensor[t]->output)
			s.last[graph_root(g, t)] = INT_MAX;
	for (int i = g->nnode - 1; i >= 0; i--)
		sink_node(&s, i);
	rewrite_begin(&r, g);
	for (int i = 0; i < r.nnode; i++)
		if (s.anchor[i] != i)
			rewrite_move(&r, g->node[i], g->node[s.anchor[i]]);
	rewrite_commit(&r, 0);
	deps_release(&s.d);
	mem_free(s.anchor);
	mem_free(s.last);
}

int pass_sched(struct graph *g, struct pass_env *env)
{
	hoist(g, two_phases(g), env->backend == BACKEND_CUDA);
	sink(g);
	return 0;
}
