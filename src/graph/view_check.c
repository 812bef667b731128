/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The invariants of views. Each fits its root by shape, type and layout; then the step is
 * replayed: every channel (or row) of a buffer with views knows which tensor was written there
 * last, every tensor in such a buffer knows whose elements it consists of (its own, or those of the
 * parts it joins or was cut from), and both must agree whenever it is read. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/deps.h"
#include "graph/view.h"

static int bad(const struct tensor *t, const char *rule)
{
	return ERR(E_BUG, &t->loc, "tensor %d '%s': %s", t->id, t->name, rule);
}

/* --- each view alone --- */

/* Whether the shapes differ along the axis at most. */
static bool same_others(const struct shape *a, const struct shape *b, int axis)
{
	struct shape x = *a, y = *b;
	if (x.nd < 2 || x.nd != y.nd)
		return false;
	x.d[axis] = y.d[axis] = 1;
	return shape_equal(&x, &y);
}

static int check_view(const struct graph *g, const struct tensor *t)
{
	const struct tensor *root;
	struct layout own;
	const int axis = t->view_axis;
	if (t->view < 0 || t->view >= g->ntensor)
		return bad(t, "a window of no tensor");
	root = g->tensor[t->view];
	if (root->view != NONE || root->alias != NONE || root->role != ROLE_ACTIVATION ||
	    root->producer == NONE)
		return bad(t, "a window of something that has no buffer of its own");
	if (t->role != ROLE_ACTIVATION || t->alias != NONE || t->output)
		return bad(t, "a window that is an output, an alias or no activation");
	if (axis != root->view_axis || !view_divides(&root->shape, axis))
		return bad(t, "a window along another axis than the others of its buffer, or than may be");
	if (t->dtype != root->dtype || !same_others(&t->shape, &root->shape, axis))
		return bad(t, "a window of another type or other extents");
	if (t->view_at < 0 || t->view_at > root->shape.d[axis] - t->shape.d[axis])
		return bad(t, "a window outside its buffer");
	own = axis == 1 ? layout_slice(&t->shape, root->shape.d[1]) : layout_native(&t->shape);
	if (!layout_is_native(&root->layout, &root->shape) || !layout_equal(&t->layout, &own))
		return bad(t, "a window in another layout than its buffer");
	return 0;
}

/* --- what buffers hold --- */

struct replay {
	const struct graph *g;
	tid **holds;                 /* [root][channel or row]: the tensor that was written there
	                              * last */
	tid **consists;              /* [tensor of a root][channel or row]: the tensor whose elements
	                              * it should hold */
};

static tid *places_new(const struct graph *g, tid t)
{
	int64_t c = g->tensor[t]->shape.d[g->tensor[t]->view_axis];
	tid *v = mem_alloc((size_t)c * sizeof *v);
	for (int64_t i = 0; i < c; i++)
		v[i] = NONE;
	return v;
}

/* Whether t's channels or rows still hold t's elements; true for tensors without views. */
static bool intact(const struct replay *r, tid t)
{
	struct view w = view_of(r->g, version_of(r->g, t));
	const tid *has = r->consists[version_of(r->g, t)];
	return !has || memcmp(has, r->holds[w.root] + w.from,
	                      (size_t)(w.to - w.from) * sizeof *has) == 0;
}

/* Whether out[0] may overwrite in[k]. */
static bool overwrites_input(const struct graph *g, const struct node *n, int k)
{
	return k < 32 && ((n->op->inplace | n->op->kernel[g->backend].sums_into) >> k & 1);
}

/* The node's kernel writes [from, to) of the root as part of t, while it reads its inputs there:
 * only an element-wise op may, the element it has just read, and a sum that is made so. */
static int write_range(struct replay *r, const struct node *n, tid t, int64_t from, int64_t to)
{
	struct view w = view_of(r->g, t);
	bool parts = n->op->flags & (OP_CONCAT | OP_SLICE);
	for (int k = 0; k < n->nin; k++) {
		struct view in;
		if (n->in[k] == NONE)
			continue;
		in = view_of(r->g, version_of(r->g, n->in[k]));
		if (in.root != w.root || in.from >= to || in.to <= from)
			continue;
		if (parts || t != n->out[0] || !overwrites_input(r->g, n, k) ||
		    in.from != w.from || in.to != w.to)
			return bad(r->g->tensor[t], "overwrites what its node reads");
	}
	for (int64_t c = from; c < to; c++) {
		r->holds[w.root][c] = t;
		r->consists[t][c - w.from] = t;
	}
	return 0;
}

/* Out[0] of a concat: what is in place is the input's, the rest is copied. */
static int join(struct replay *r, const struct node *n)
{
	tid t = n->out[0];
	struct view w = view_of(r->g, t);
	for (int i = 0; i < n->nin; i++) {
		const struct op_piece p = n->op->piece(r->g, n, i);
		const int64_t c = r->g->tensor[n->in[i]]->shape.d[p.axis];
		if (p.axis != w.axis)
			return write_range(r, n, t, w.from, w.to);
		if (!view_in_place(r->g, n, i))
			TRY(write_range(r, n, t, w.from + p.first, w.from + p.first + c));
		else
			memcpy(r->consists[t] + p.first, r->consists[n->in[i]],
			       (size_t)c * sizeof(tid));
	}
	return 0;
}

static int make(struct replay *r, const struct node *n, int k)
{
	tid t = n->out[k];
	struct view w;
	if (t == NONE || !r->consists[t])
		return 0;
	w = view_of(r->g, t);
	if (n->op->flags & OP_CONCAT)
		return join(r, n);
	if (!(n->op->flags & OP_SLICE) || !view_in_place(r->g, n, 0))
		return write_range(r, n, t, w.from, w.to);
	memcpy(r->consists[t], r->consists[n->in[0]] + n->op->piece(r->g, n, 0).first,
	       (size_t)(w.to - w.from) * sizeof(tid));
	return 0;
}

static int replay_node(struct replay *r, const struct node *n)
{
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] != NONE && !intact(r, n->in[k]))
			return ERR(E_BUG, &n->loc,
			           "node %d '%s' of '%s' reads tensor %d '%s', which is overwritten",
			           n->id, n->op->name, n->name, n->in[k], r->g->tensor[n->in[k]]->name);
	for (int k = 0; k < n->nout; k++)
		TRY(make(r, n, k));
	for (int k = 0; k < n->nout; k++)
		if (n->out[k] != NONE && !intact(r, n->out[k]))
			return bad(r->g->tensor[n->out[k]], "shares its place with another output");
	return 0;
}

static int replay(struct replay *r)
{
	const struct graph *g = r->g;
	for (tid t = 0; t < g->ntensor; t++)
		if (g->tensor[t]->view != NONE && !r->holds[g->tensor[t]->view])
			r->holds[g->tensor[t]->view] = places_new(g, g->tensor[t]->view);
	for (tid t = 0; t < g->ntensor; t++)
		if (g->tensor[t]->alias == NONE && r->holds[view_of(g, t).root])
			r->consists[t] = places_new(g, t);
	for (int i = 0; i < g->nnode; i++)
		TRY(replay_node(r, g->node[i]));
	for (tid t = 0; t < g->ntensor; t++)
		if (g->tensor[t]->output && !intact(r, t))
			return bad(g->tensor[t], "an output that is overwritten");
	return 0;
}

int view_check(const struct graph *g)
{
	size_t room = (size_t)g->ntensor + 1;
	struct replay r = { .g = g };
	int rc;
	bool any = false;
	for (tid t = 0; t < g->ntensor; t++) {
		const struct tensor *x = g->tensor[t];
		if (x->alias != NONE && g->tensor[x->alias]->view != NONE)
			return bad(x, "aliases a window");
		if (x->view == NONE || x->producer == NONE)
			continue;
		TRY(check_view(g, x));
		any = true;
	}
	if (!any)
		return 0;
	r.holds = mem_calloc(room, sizeof *r.holds);
	r.consists = mem_calloc(room, sizeof *r.consists);
	rc = replay(&r);
	for (tid t = 0; t < g->ntensor; t++) {
		mem_free(r.holds[t]);
		mem_free(r.consists[t]);
	}
	mem_free(r.holds);
	mem_free(r.consists);
	return rc;
}
