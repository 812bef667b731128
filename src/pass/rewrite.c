/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The new order is made once, at the commit. Nodes with a target position (new ones and moved ones)
 * are sorted, stably, by the old node that they precede, and merged with the nodes that stay. */
#include "pass/rewrite.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/attr.h"

/* --- what a graph is like --- */

bool rewrite_is(const struct node *n, const char *op)
{
	return n && strcmp(n->op->name, op) == 0;
}

struct node *rewrite_producer(const struct graph *g, tid t)
{
	const nid p = t == NONE ? NONE : g->tensor[t]->producer;
	return p == NONE ? NULL : g->node[p];
}

struct node *rewrite_made_by(const struct graph *g, tid t, const char *op)
{
	struct node *n = rewrite_producer(g, t);
	return rewrite_is(n, op) ? n : NULL;
}

struct readers rewrite_readers(const struct graph *g, struct arena *a)
{
	struct readers r = { ARENA_ARRAY(a, int, g->ntensor + 2), NULL };
	for (int i = 0; i < g->nnode; i++)
		for (int k = 0; k < g->node[i]->nin; k++)
			if (g->node[i]->in[k] != NONE)
				r.first[g->node[i]->in[k] + 2]++;
	for (int t = 0; t < g->ntensor; t++)
		r.first[t + 2] += r.first[t + 1];
	r.reader = ARENA_ARRAY(a, struct reader, r.first[g->ntensor + 1] + 1);
	for (int i = 0; i < g->nnode; i++)       /* first[t + 1] runs to the end of t's readers */
		for (int k = 0; k < g->node[i]->nin; k++)
			if (g->node[i]->in[k] != NONE)
				r.reader[r.first[g->node[i]->in[k] + 1]++] = (struct reader){ g->node[i], k };
	return r;
}

/* --- the record of changes --- */

struct place {
	struct node *n;
	nid before;
};

struct rewrite_own {
	struct graph_context saved;
	nid before;                  /* position of nodes that are emitted now */
	int seen;                    /* number of the graph's nodes that have a position */
	struct place *place;
	int nplace, place_cap;
	bool *gone;                  /* by old node: dropped, or moved elsewhere */
	int ngone;
	tid *instead;                /* by old tensor: its replacement, or NONE */
	bool redirected;
};

void rewrite_begin(struct rewrite *r, struct graph *g)
{
	struct rewrite_own *o = mem_calloc(1, sizeof *o);
	*r = (struct rewrite){ g, g->nnode, g->ntensor, o };
	o->saved = (struct graph_context){ g->cur_name, g->cur_loc, g->cur_phase };
	o->before = o->seen = g->nnode;
	o->gone = mem_calloc((size_t)g->nnode + 1, sizeof *o->gone);
	o->instead = mem_alloc(((size_t)g->ntensor + 1) * sizeof *o->instead);
	for (tid t = 0; t < g->ntensor; t++)
		o->instead[t] = NONE;
}

static void put(struct rewrite_own *o, struct node *n, nid before)
{
	if (o->nplace == o->place_cap) {
		o->place_cap = o->place_cap ? 2 * o->place_cap : 64;
		o->place = mem_realloc(o->place, (size_t)o->place_cap * sizeof *o->place);
	}
	o->place[o->nplace++] = (struct place){ n, before };
}

/* Records, for the nodes emitted since the last call, the position that rewrite_before set. */
static void put_emitted(struct rewrite *r)
{
	struct rewrite_own *o = r->own;
	while (o->seen < r->g->nnode)
		put(o, r->g->node[o->seen++], o->before);
}

static nid place_of(const struct rewrite *r, const struct node *at)
{
	BUG_IF(at && (at->id < 0 || at->id >= r->nnode), "node %d is none of %d", at->id, r->nnode);
	return at ? at->id : r->nnode;
}

void rewrite_before(struct rewrite *r, const struct node *at, const struct node *like)
{
	put_emitted(r);
	r->own->before = place_of(r, at);
	graph_enter(r->g, like);
}

void rewrite_drop(struct rewrite *r, const struct node *n)
{
	struct rewrite_own *o = r->own;
	const nid id = place_of(r, n);
	o->ngone += !o->gone[id];
	o->gone[id] = true;
}

void rewrite_move(struct rewrite *r, struct node *n, const struct node *at)
{
	put_emitted(r);
	rewrite_drop(r, n);
	put(r->own, n, place_of(r, at));
}

void rewrite_instead(struct rewrite *r, tid t, tid to)
{
	BUG_IF(t >= r->ntensor || r->g->tensor[t]->output, "tensor %d cannot be replaced", t);
	r->own->instead[t] = to;
	r->own->redirected = true;
}

int rewrite_replace(struct rewrite *r, struct node *old, const char *op, const struct node *like,
                    int nin, const tid *in, struct node **made)
{
	struct graph *g = r->g;
	void *attr;
	rewrite_before(r, old, old);
	const struct node *from[] = { old, like };
	TRY(rewrite_attr(g, op_find(op), like ? 2 : 1, from, &attr));
	while (nin > 0 && in[nin - 1] == NONE)
		nin--;
	TRY(graph_emit(g, op, attr, nin, in, 0, NULL));
	*made = g->node[g->nnode - 1];
	rewrite_drop(r, old);
	return 0;
}

/* --- the commit --- */

/* Sorts the new nodes by the old node that each precedes. Those before old node i end at
 * sorted[end[i]]. */
static void sort_places(const struct rewrite *r, struct node **sorted, int *end)
{
	const struct rewrite_own *o = r->own;
	for (int k = 0; k < o->nplace; k++)
		end[o->place[k].before + 1]++;
	for (int i = 0; i <= r->nnode; i++)
		end[i + 1] += end[i];
	for (int k = 0; k < o->nplace; k++)
		sorted[end[o->place[k].before]++] = o->place[k].n;
}

static void put_in_order(const struct rewrite *r)
{
	const struct rewrite_own *o = r->own;
	struct graph *g = r->g;
	struct node **sorted = mem_alloc(((size_t)o->nplace + 1) * sizeof *sorted);
	struct node **order = mem_alloc(((size_t)g->nnode + 1) * sizeof *order);
	int *end = mem_calloc((size_t)r->nnode + 2, sizeof *end), n = 0, k = 0;
	sort_places(r, sorted, end);
	for (int i = 0; i <= r->nnode; i++) {
		while (k < end[i])
			order[n++] = sorted[k++];
		if (i < r->nnode && !o->gone[i])
			order[n++] = g->node[i];
	}
	graph_reorder(g, order, n);
	mem_free(sorted);
	mem_free(order);
	mem_free(end);
}

int rewrite_commit(struct rewrite *r, int rc)
{
	struct rewrite_own *o = r->own;
	put_emitted(r);
	if (rc == 0 && (o->nplace || o->ngone))
		put_in_order(r);
	for (int i = 0; rc == 0 && o->redirected && i < r->g->nnode; i++)
		rewrite_operands(r->g, r->g->node[i], o->instead, r->ntensor);
	graph_leave(r->g, o->saved);
	mem_free(o->place);
	mem_free(o->gone);
	mem_free(o->instead);
	mem_free(o);
	r->own = NULL;
	return rc;
}

/* --- nodes and operands --- */

void rewrite_take(struct graph *g, struct node *made, int i, tid t)
{
	if (t == NONE)
		return;
	graph_t(g, made->out[i])->producer = NONE;
	graph_t(g, t)->producer = made->id;
	made->out[i] = t;
}

/* The attributes of a node whose op has the same table, or NULL. */
static const void *same_attr(const struct op *op, int n, const struct node *const *like)
{
	for (int k = 0; k < n; k++)
		if (like[k]->op->attrs == op->attrs)
			return like[k]->attr;
	return NULL;
}

int rewrite_attr(struct graph *g, const struct op *op, int n, const struct node *const *like,
                 void **attr)
{
	*attr = NULL;
	if (op->attr_size) {
		const void *same = same_attr(op, n, like);
		*attr = arena_alloc(g->arena, op->attr_size);
		if (same)                            /* some attributes have no default */
			memcpy(*attr, same, op->attr_size);
		else
			TRY(schema_read(g->arena, NULL, op->attrs, op->name, &like[0]->loc, *attr));
	}
	for (int k = 0; k < n; k++)
		attr_carry(op, *attr, like[k]->op, like[k]->attr);
	return 0;
}

int rewrite_become(struct graph *g, struct node *n, const char *op, int nin, const tid *in)
{
	const struct op *to = op_find(op);
	void *attr;
	TRY(rewrite_attr(g, to, 1, (const struct node *[]){ n }, &attr));
	n->op = to;
	n->attr = attr;
	n->in = arena_copy(g->arena, in, (size_t)nin * sizeof *in);
	n->nin = nin;
	while (n->nout > to->nout && to->nout >= 0)
		if (n->out[--n->nout] != NONE)
			graph_t(g, n->out[n->nout])->producer = NONE;
	return 0;
}

void rewrite_operands(struct graph *g, struct node *n, const tid *instead, int ntensor)
{
	for (int k = 0; k < n->nin; k++) {
		const tid old = n->in[k], to = old == NONE || old >= ntensor ? NONE : instead[old];
		if (to == NONE)
			continue;
		n->in[k] = to;
		for (int i = 0; i < n->nout; i++)
			if (n->out[i] != NONE && g->tensor[n->out[i]]->alias == old)
				g->tensor[n->out[i]]->alias = to;
	}
}
