/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes concatenations and slices of channels free: the pieces become views of the whole
 * (graph/view.h), if the kernels that write and read a piece accept a pixel stride.
 *
 * Concatenations are handled first and in reverse order. So a chain of them, each appending to the
 * one before (a dense block), is stored in the buffer of the last: concat(concat(a, b), c) is one
 * buffer of three views. A tensor that several concatenations read is stored in the first of them;
 * a later concatenation of pieces that are neighbours already is a view too. Slices follow: a range
 * of channels that is only read becomes a view of the sliced tensor; gradients of concatenations
 * are such ranges. */
#include "graph/layout_rule.h"
#include "graph/view.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

struct views {
	struct graph *g;
	struct pass_env *env;
	struct arena *scratch;
	struct readers readers;
	nid *home;                   /* by tensor: the first concatenation that reads it, or NONE */
	bool *pinned;                /* by tensor: something aliases it */
	bool *root;                  /* by tensor: has views */
};

static bool has_piece(const struct graph *g, const struct node *n, int i)
{
	int64_t first;
	return n->op->piece && n->op->piece(g, n, i, &first);
}

static void find_homes(struct views *v)
{
	struct graph *g = v->g;
	for (tid t = 0; t < g->ntensor; t++) {
		v->home[t] = NONE;
		if (g->tensor[t]->alias != NONE)
			v->pinned[t] = v->pinned[g->tensor[t]->alias] = true;
		for (int i = readers_count(&v->readers, t) - 1; i >= 0; i--) {
			const struct reader *u = &readers_of(&v->readers, t)[i];
			if ((u->n->op->flags & OP_CONCAT) && has_piece(g, u->n, u->in))
				v->home[t] = u->n->id;
		}
	}
}

/* --- which tensors may be views --- */

static bool takes(const struct views *v, const struct node *n, bool output, int i)
{
	const struct kernel *kernel = &n->op->kernel[v->env->backend];
	struct kplan k = { .g = v->g, .n = n, .dev = v->env->dev, .env = v->env->plan,
		.arena = v->scratch };
	if (!(n->op->flags & OP_VIEW) && kernel->layouts == KL_CHOOSE)
		return kernel->takes_slice && kernel->takes_slice(&k, output, i);
	return kernel_takes_view(v->g, n, v->env->backend, output, i);
}

static bool readers_take(const struct views *v, tid t)
{
	const struct reader *u = readers_of(&v->readers, t);
	for (int i = 0; i < readers_count(&v->readers, t); i++)
		if (!takes(v, u[i].n, false, u[i].in))
			return false;
	return true;
}

static bool writer_takes(const struct views *v, tid t)
{
	const struct node *n = rewrite_producer(v->g, t);
	int k = 0;
	while (n->out[k] != t)
		k++;
	return takes(v, n, true, k);
}

/* Whether t has, or may have, views; then it is channels-last. */
static bool can_hold(const struct views *v, tid t)
{
	const struct tensor *x = v->g->tensor[t];
	if (x->role != ROLE_ACTIVATION || x->producer == NONE || v->pinned[t] || x->shape.nd < 2)
		return false;
	return x->view != NONE || layout_is_native(&x->layout, &x->shape);
}

/* Whether t may become a view, judged by t alone. */
static bool can_move(const struct views *v, tid t)
{
	const struct tensor *x = v->g->tensor[t];
	return can_hold(v, t) && x->view == NONE && !x->output && !v->root[t];
}

static void place(struct views *v, tid t, tid root, int64_t at)
{
	view_place(v->g, t, root, at);
	v->root[root] = true;
}

/* --- concats --- */

static void concat(struct views *v, const struct node *n)
{
	struct graph *g = v->g;
	struct view whole = view_of(g, n->out[0]);
	if (!can_hold(v, n->out[0]))
		return;
	for (int i = 0; i < n->nin; i++) {
		tid t = n->in[i];
		int64_t first;
		if (v->home[t] != n->id || !n->op->piece(g, n, i, &first) || !can_move(v, t))
			continue;
		if (g->tensor[t]->dtype == g->tensor[n->out[0]]->dtype && writer_takes(v, t) &&
		    readers_take(v, t))
			place(v, t, whole.root, whole.from + first);
	}
}

/* Merges a concat of pieces that are already neighbours in one buffer. */
static void rejoin(struct views *v, const struct node *n)
{
	const struct view begin = view_of(v->g, n->in[0]);
	if (!can_move(v, n->out[0]) || v->g->tensor[n->in[0]]->view == NONE)
		return;
	for (int i = 0; i < n->nin; i++) {
		struct view w = view_of(v->g, n->in[i]);
		int64_t first;
		if (!n->op->piece(v->g, n, i, &first) || w.root != begin.root ||
		    w.from != begin.from + first)
			return;
	}
	if (readers_take(v, n->out[0]))
		place(v, n->out[0], begin.root, begin.from);
}

/* --- slices --- */

static void slice(struct views *v, const struct node *n)
{
	struct view whole = view_of(v->g, n->in[0]);
	int64_t first;
	if (!n->op->piece(v->g, n, 0, &first) || !can_hold(v, n->in[0]) ||
	    !can_move(v, n->out[0]) || !readers_take(v, n->out[0]))
		return;
	place(v, n->out[0], whole.root, whole.from + first);
}

int pass_views(struct graph *g, struct pass_env *env)
{
	struct views v = { .g = g, .env = env, .scratch = arena_new() };
	v.readers = rewrite_readers(g, v.scratch);
	v.home = ARENA_ARRAY(v.scratch, nid, g->ntensor + 1);
	v.pinned = ARENA_ARRAY(v.scratch, bool, g->ntensor + 1);
	v.root = ARENA_ARRAY(v.scratch, bool, g->ntensor + 1);
	find_homes(&v);
	for (int i = g->nnode - 1; i >= 0; i--)
		if (g->node[i]->op->flags & OP_CONCAT)
			concat(&v, g->node[i]);
	for (int i = 0; i < g->nnode; i++)
		if (g->node[i]->op->flags & OP_CONCAT)
			rejoin(&v, g->node[i]);
		else if (g->node[i]->op->flags & OP_SLICE)
			slice(&v, g->node[i]);
	arena_free(v.scratch);
	return 0;
}
