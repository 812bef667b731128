/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lifetimes are computed from the graph again instead of being taken from the planner, so the map
 * shows what a step really does, including mistakes of the planner. */
#include "plan/describe/memory_map.h"

#include <stdlib.h>

#include "base/mem.h"
#include "graph/memplan.h"
#include "graph/view.h"

const char *const memory_kind_name[MEMORY_KINDS] = {
	[MEMORY_FORWARD] = "forward", [MEMORY_BACKWARD] = "backward", [MEMORY_GRADIENT] = "gradient",
	[MEMORY_UPDATE] = "update", [MEMORY_WORKSPACE] = "workspace"
};

static bool in_arena(const struct graph *g, tid t)
{
	return graph_t(g, t)->offset >= 0;
}

static enum memory_kind kind_of(const struct graph *g, tid t)
{
	static const enum memory_kind of[PHASE_COUNT] = {
		[PHASE_FORWARD] = MEMORY_FORWARD, [PHASE_BACKWARD] = MEMORY_BACKWARD,
		[PHASE_UPDATE] = MEMORY_UPDATE
	};
	const struct tensor *x = graph_t(g, t);
	if (x->grad_of != NONE)
		return MEMORY_GRADIENT;
	return x->producer == NONE ? MEMORY_FORWARD : of[g->node[x->producer]->phase];
}

/* --- lifetimes --- */

struct life {
	nid *first, *last;           /* by tensor; first NONE: no node touches it */
};

static void touch(struct life *l, tid t, nid i)
{
	if (l->first[t] == NONE)
		l->first[t] = i;
	l->last[t] = i;
}

/* A view is touched, and so is what it is in. */
static void touch_all(struct life *l, const struct graph *g, const tid *t, int n, nid i)
{
	for (int k = 0; k < n; k++) {
		tid x = t[k];
		if (x == NONE)
			continue;
		touch(l, x, i);
		while (graph_t(g, x)->alias != NONE)
			touch(l, x = graph_t(g, x)->alias, i);
		if (graph_t(g, x)->view != NONE)
			touch(l, graph_t(g, x)->view, i);
	}
}

static void find_lives(struct life *l, const struct graph *g, struct arena *a)
{
	l->first = ARENA_ARRAY(a, nid, g->ntensor + 1);
	l->last = ARENA_ARRAY(a, nid, g->ntensor + 1);
	for (tid t = 0; t < g->ntensor; t++)
		l->first[t] = l->last[t] = NONE;
	for (int i = 0; i < g->nnode; i++) {
		touch_all(l, g, g->node[i]->in, g->node[i]->nin, i);
		touch_all(l, g, g->node[i]->out, g->node[i]->nout, i);
	}
	for (tid t = 0; t < g->ntensor; t++)
		if (graph_t(g, t)->output && g->nnode)
			touch_all(l, g, &t, 1, g->nnode - 1);
}

/* The input of the node that makes t whose place t takes; or NONE. */
static tid taken_over(const struct graph *g, const struct life *l, tid t)
{
	const struct tensor *x = graph_t(g, t);
	const struct node *n = x->producer == NONE ? NULL : g->node[x->producer];
	for (int k = 0; n && n->out[0] == t && k < n->nin; k++) {
		tid root = n->in[k] == NONE ? NONE : graph_root(g, n->in[k]);
		if (root != NONE && root != t && in_arena(g, root) && l->last[root] == n->id &&
		    graph_t(g, root)->offset == x->offset)
			return root;
	}
	return NONE;
}

/* --- the list --- */

static struct memory_place place_of(const struct graph *g, const struct life *l, tid t)
{
	const struct tensor *x = graph_t(g, t);
	tid root = graph_root(g, t), at = t;
	while (graph_t(g, at)->alias != NONE)
		at = graph_t(g, at)->alias;
	struct view w = view_of(g, at);
	struct memory_place p = { .tensor = t, .kind = kind_of(g, t), .first = l->first[t],
		.last = l->last[t],
		.offset = x->offset, .bytes = x->bytes, .root = root, .view = w.root == at ? NONE : w.axis,
		.from = w.from, .to = w.to,
		.over = root == t ? taken_over(g, l, t) : NONE };
	p.end = root == t ? x->offset + memplan_aligned(g, x->bytes) : x->offset + x->bytes;
	return p;
}

static int by_place(const void *a, const void *b)
{
	const struct memory_place *p = a, *q = b;
	const int64_t key[][2] = { { p->offset, q->offset }, { p->first, q->first },
		{ p->root != p->tensor, q->root != q->tensor }, { p->tensor, q->tensor } };
	for (size_t i = 0; i < sizeof key / sizeof *key; i++)
		if (key[i][0] != key[i][1])
			return key[i][0] < key[i][1] ? -1 : 1;
	return 0;
}

void memory_map_init(struct memory_map *m, const struct plan *p)
{
	const struct graph *g = p->g;
	struct arena *a = arena_new();
	struct life l;
	find_lives(&l, g, a);
	m->n = 0;
	m->place = mem_alloc(((size_t)g->ntensor + (size_t)g->nnode + 1) * sizeof *m->place);
	for (tid t = 0; t < g->ntensor; t++)
		if (in_arena(g, t) && l.first[t] != NONE)
			m->place[m->n++] = place_of(g, &l, t);
	for (int i = 0; i < g->nnode; i++) {
		int64_t bytes = (int64_t)exec_workspace(p->exec, i), at = exec_workspace_offset(p->exec, i);
		if (bytes > 0)
			m->place[m->n++] = (struct memory_place){ .tensor = NONE, .kind = MEMORY_WORKSPACE,
				.first = i, .last = i, .offset = at, .end = at + memplan_aligned(g, bytes),
				.bytes = bytes, .root = NONE, .view = NONE, .over = NONE };
	}
	qsort(m->place, (size_t)m->n, sizeof *m->place, by_place);
	arena_free(a);
}

void memory_map_release(struct memory_map *m)
{
	mem_free(m->place);
}
