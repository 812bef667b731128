/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulates the step: at each node its outputs and workspace are added to the list of live buffers,
 * which is sorted by offset so that only neighbours must be compared; then buffers after their last
 * use are removed, for a node on the second stream at the node that waits for it. An output that
 * takes over the buffer of a dying input is the one overlap allowed. */
#include "graph/memcheck.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/deps.h"
#include "graph/memplan.h"
#include "graph/view.h"

#define ALIGN 64

struct span {
	int64_t from, to;
	tid t;                       /* or NONE: workspace */
};

struct replay {
	const struct graph *g;
	const struct memplan_workspace *ws;
	nid *last;                   /* graph_last_use */
	bool *made;                  /* by root: the buffer is or was alive; a view may be made before
	                              * its root */
	struct span *live;           /* the live buffers, by ascending offset */
	int nlive;
	const struct node **aside;   /* on the second stream */
	int naside;
};

static int bad(const struct graph *g, nid i, tid a, tid b, const char *rule)
{
	const struct node *n = g->node[i];
	return ERR(E_BUG, &n->loc, "node %d '%s' of '%s': %s '%s', %s '%s'", i, n->op->name,
	           n->name, a == NONE ? "workspace" : "tensor", a == NONE ? "" : g->tensor[a]->name,
	           rule, b == NONE ? "" : g->tensor[b]->name);
}

static bool in_arena(const struct graph *g, tid t)
{
	return g->tensor[graph_root(g, t)]->role == ROLE_ACTIVATION;
}

/* The first of the living that ends after `from`. */
static int find_live(const struct replay *r, int64_t from)
{
	int lo = 0, hi = r->nlive;
	while (lo < hi) {
		int mid = (lo + hi) / 2;
		if (r->live[mid].to <= from)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void take_out(struct replay *r, int at)
{
	r->nlive--;
	memmove(r->live + at, r->live + at + 1, (size_t)(r->nlive - at) * sizeof *r->live);
}

/* The root of t, if n is the last to use it. */
static void remove_used(struct replay *r, const struct node *n, tid t)
{
	if (t == NONE || r->last[t = graph_root(r->g, t)] > node_last(n))
		return;
	int at = find_live(r, r->g->tensor[t]->offset);
	if (at < r->nlive && r->live[at].t == t)
		take_out(r, at);
}

static void remove_dead(struct replay *r, const struct node *n)
{
	for (int k = 0; k < n->nin; k++)
		remove_used(r, n, n->in[k]);
	for (int k = 0; k < n->nout; k++)
		remove_used(r, n, n->out[k]);
	if (!r->ws || !r->ws->bytes || !r->ws->bytes[n->id])
		return;
	int at = find_live(r, r->ws->offset[n->id]);
	if (at < r->nlive && r->live[at].t == NONE)
		take_out(r, at);
}

static bool is_used_aside(const struct replay *r, tid root)
{
	for (int i = 0; i < r->naside; i++) {
		const struct node *n = r->aside[i];
		for (int k = 0; k < n->nin + n->nout; k++) {
			const tid t = node_operand(n, k);
			if (t != NONE && graph_root(r->g, t) == root)
				return true;
		}
	}
	return false;
}

/* Whether out, made by n, may be exactly where `on`, alive until n, is. */
static bool takes_over(const struct replay *r, const struct node *n, tid out, tid on)
{
	const struct graph *g = r->g;
	bool input = false;
	if (out == NONE || on == NONE || out != n->out[0] || r->last[on] != n->id ||
	    is_used_aside(r, on))
		return false;
	if (g->tensor[out]->offset != g->tensor[on]->offset ||
	    g->tensor[out]->bytes != g->tensor[on]->bytes)
		return false;
	for (int k = 0; k < n->nin; k++) {
		if (n->in[k] == NONE || graph_root(g, n->in[k]) != on)
			continue;
		if (k >= 32 || !(n->op->inplace >> k & 1))
			return false;
		if (!layout_equal(&g->tensor[n->in[k]]->layout, &g->tensor[out]->layout))
			return false;
		input = true;
	}
	return input;
}

/* Puts a span among the living; its neighbours must leave it room. The one it takes over dies at
 * once. */
static int add(struct replay *r, const struct node *n, struct span s)
{
	int lo = find_live(r, s.from);
	if (lo < r->nlive && r->live[lo].from < s.to) {
		if (!takes_over(r, n, s.t, r->live[lo].t))
			return bad(r->g, n->id, s.t, r->live[lo].t, "overlaps the living");
		r->live[lo] = s;
		return 0;
	}
	memmove(r->live + lo + 1, r->live + lo, (size_t)(r->nlive - lo) * sizeof *r->live);
	r->live[lo] = s;
	r->nlive++;
	return 0;
}

static int check_range(struct replay *r, const struct node *n, struct span s)
{
	if (s.from < 0 || s.from % ALIGN || s.to < s.from || s.to > r->g->arena_bytes)
		return bad(r->g, n->id, s.t, NONE, "is misaligned or outside the arena");
	return add(r, n, s);
}

/* Removes the buffers of nodes on the second stream for which node i waits. */
static void remove_joined(struct replay *r, nid i)
{
	for (int k = 0; k < r->naside; k++)
		if (node_last(r->aside[k]) == i) {
			remove_dead(r, r->aside[k]);
			r->aside[k--] = r->aside[--r->naside];
		}
}

static int check_node(struct replay *r, const struct node *n)
{
	const struct graph *g = r->g;
	for (int k = 0; k < n->nout; k++) {
		const struct tensor *x = n->out[k] == NONE ? NULL : g->tensor[n->out[k]];
		if (!x || x->alias != NONE)
			continue;
		x = g->tensor[graph_root(g, x->id)];
		if (r->made[x->id])
			continue;
		r->made[x->id] = true;
		TRY(check_range(r, n, (struct span){ x->offset, x->offset + x->bytes, x->id }));
	}
	if (r->ws && r->ws->bytes && r->ws->bytes[n->id]) {
		int64_t at = r->ws->offset[n->id];
		TRY(check_range(r, n,
		                (struct span){ at, at + (int64_t)r->ws->bytes[n->id], NONE }));
	}
	if (node_last(n) > n->id)
		r->aside[r->naside++] = n;
	else
		remove_dead(r, n);
	remove_joined(r, n->id);
	return 0;
}

/* Checks the sizes, and that no other tensor has an offset in the arena. */
static int check_tensors(const struct graph *g)
{
	for (int t = 0; t < g->ntensor; t++) {
		const struct tensor *x = g->tensor[t];
		const struct tensor *root = g->tensor[graph_root(g, t)];
		if (x->role == ROLE_ACTIVATION && x->producer == NONE)
			continue;
		if (x->bytes != tensor_buffer_bytes(g, t))
			return ERR(E_BUG, &x->loc,
			           "tensor %d '%s': bytes are not those of its layout", t, x->name);
		if (in_arena(g, t) ? x->offset != root->offset + view_offset(g, t) || x->offset < 0
		                   : x->offset != -1)
			return ERR(E_BUG, &x->loc, "tensor %d '%s': stored in the wrong place", t,
			           x->name);
	}
	return 0;
}

int memcheck(const struct graph *g, const struct memplan_workspace *ws)
{
	struct replay r = { .g = g, .ws = ws };
	int rc = check_tensors(g);
	r.last = graph_last_use(g);
	r.made = mem_calloc((size_t)g->ntensor + 1, sizeof *r.made);
	r.live = mem_alloc(((size_t)g->ntensor + (size_t)g->nnode + 2) * sizeof *r.live);
	r.aside = mem_alloc(((size_t)g->nnode + 1) * sizeof(const struct node *));
	for (int i = 0; rc == 0 && i < g->nnode; i++)
		rc = check_node(&r, g->node[i]);
	mem_free(r.last);
	mem_free(r.made);
	mem_free(r.live);
	mem_free(r.aside);
	return rc;
}
