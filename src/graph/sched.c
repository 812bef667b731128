/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of execution. Forward and backward keep the order they were emitted in, which is the order of the layers and its
 * reverse. Updates are moved up to where their inputs are ready and every other reader of the state has run: the gradient is then
 * consumed while it is still in the cache, and its memory is free for the rest of backward. With gradient accumulation forward and
 * backward run several times before one update, so updates stay at the end. */
#include <string.h>

#include "base/mem.h"
#include "graph/deps.h"
#include "graph/pass.h"

/* Whether the update runs apart from forward and backward. */
static bool two_phases(const struct graph *g)
{
	for (int i = 0; i < g->nnode; i++)
		if (!strcmp(g->node[i]->op->name, "accumulate"))
			return true;
	return false;
}

/* Kahn's algorithm: the next node is an update that is ready, else the first one in the old order. */
static void hoist(struct graph *g, bool apart)
{
	struct node **order = mem_alloc(((size_t)g->nnode + 1) * sizeof *order);
	struct deps d;
	struct heap h;
	int n = 0;

	deps_build(&d, g);
	heap_init(&h, g->nnode);
	for (int i = 0; i < g->nnode; i++)
		if (d.npred[i] == 0)
			heap_push(&h, g->node[i]->phase == PHASE_UPDATE ? (apart ? 1 : -1) : 0, i);
	while (h.n) {
		int i = heap_pop(&h);
		order[n++] = g->node[i];
		for (int k = d.first[i]; k < d.first[i + 1]; k++) {
			int s = d.succ[k];
			if (--d.npred[s] == 0)
				heap_push(&h, g->node[s]->phase == PHASE_UPDATE ? (apart ? 1 : -1) : 0, s);
		}
	}
	graph_reorder(g, order, n);
	heap_release(&h);
	deps_release(&d);
	mem_free(order);
}

int pass_sched(struct graph *g, struct pass_env *env)
{
	hoist(g, two_phases(g));
	return 0;
}
