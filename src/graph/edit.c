/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Changes to a graph that exists: contexts for the nodes a pass adds, orders, replacements. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/deps.h"

struct graph_context graph_enter(struct graph *g, const struct node *like)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	g->cur_name = like->name;
	g->cur_loc = like->loc;
	g->cur_phase = like->phase;
	return saved;
}

void graph_leave(struct graph *g, struct graph_context saved)
{
	g->cur_name = saved.name;
	g->cur_loc = saved.loc;
	g->cur_phase = saved.phase;
}

void graph_reorder(struct graph *g, struct node **order, int n)
{
	struct node **old = mem_alloc(((size_t)g->nnode + 1) * sizeof *old);
	int nold = g->nnode;
	BUG_IF(n > nold, "an order of %d nodes for %d", n, nold);
	memcpy(old, g->node, (size_t)nold * sizeof *old);
	for (int i = 0; i < nold; i++)
		old[i]->id = NONE;
	memmove(g->node, order, (size_t)n * sizeof *order);
	g->nnode = n;
	for (int i = 0; i < n; i++) {
		g->node[i]->id = i;
		g->node[i]->join = NONE;
	}
	for (int kept = 0; kept < 2; kept++)     /* a kept node may have taken a dropped one's output */
		for (int i = 0; i < nold; i++)
			for (int k = 0; (old[i]->id != NONE) == kept && k < old[i]->nout; k++)
				if (old[i]->out[k] != NONE)
					g->tensor[old[i]->out[k]]->producer = old[i]->id;
	mem_free(old);
}

/* Kahn's algorithm. */
void graph_sort_by(struct graph *g, const int64_t *rank)
{
	struct node **order = mem_alloc(((size_t)g->nnode + 1) * sizeof *order);
	struct deps d;
	struct heap h;
	int n = 0;
	deps_build(&d, g);
	heap_init(&h, g->nnode);
	for (int i = 0; i < g->nnode; i++)
		if (d.npred[i] == 0)
			heap_push(&h, rank ? rank[i] : 0, i);
	while (h.n) {
		int i = heap_pop(&h);
		order[n++] = g->node[i];
		for (int k = d.first[i]; k < d.first[i + 1]; k++)
			if (--d.npred[d.succ[k]] == 0)
				heap_push(&h, rank ? rank[d.succ[k]] : 0, d.succ[k]);
	}
	BUG_IF(n != g->nnode, "a cycle through %d of %d nodes", g->nnode - n, g->nnode);
	graph_reorder(g, order, n);
	heap_release(&h);
	deps_release(&d);
	mem_free(order);
}

void graph_sort(struct graph *g)
{
	graph_sort_by(g, NULL);
}
