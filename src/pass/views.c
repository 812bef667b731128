/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes concatenations and slices free: the pieces become views of the whole (graph/view.h).
 *
 * Pieces are ranges of channels, if the kernels that write and read them accept a pixel stride; or
 * of rows, as where a subdomain's rows are joined with those of its neighbours (pass/partition.h),
 * if there is one sample, so that rows follow each other in memory.
 *
 * Concatenations are handled first and in reverse order, those of channels before those of rows. So
 * a chain of them, each appending to the one before (a dense block), is stored in the buffer of the
 * last: concat(concat(a, b), c) is one buffer of three views. A tensor that several concatenations
 * read is stored in the first of them; a later concatenation of pieces that are neighbours already
 * is a view too. Slices follow: a range that is only read becomes a view of the sliced tensor;
 * gradients of concatenations are such ranges. */
#include "graph/layout_rule.h"
#include "graph/memplan.h"
#include "graph/view.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

struct views {
	struct graph *g;
	struct pass_env *env;
	struct arena *scratch;
	struct readers readers;
	bool rows;                   /* pieces that are rows are placed now, not channels */
	nid *home;                   /* by tensor: the first such concatenation that reads it, or
	                              * NONE */
	bool *pinned;                /* by tensor: something aliases it */
	bool *root;                  /* by tensor: has views */
};

/* Whether piece i of n, a concatenation or a slice, is of the kind that is placed now and may be a
 * view of the whole. */
static bool has_piece(const struct views *v, const struct node *n, int i)
{
	const bool concat = n->op->flags & OP_CONCAT;
	const int axis = n->op->piece ? n->op->piece(v->g, n, i).axis : 0;
	return (axis != 1) == v->rows &&
	       view_divides(&graph_t(v->g, concat ? n->out[0] : n->in[0])->shape, axis);
}

static void find_homes(struct views *v)
{
	struct graph *g = v->g;
	for (tid t = 0; t < g->ntensor; t++) {
		v->home[t] = NONE;
		for (int i = readers_count(&v->readers, t) - 1; i >= 0; i--) {
			const struct reader *u = &readers_of(&v->readers, t)[i];
			if ((u->n->op->flags & OP_CONCAT) && has_piece(v, u->n, u->in))
				v->home[t] = u->n->id;
		}
	}
}

static void find_pinned(struct views *v)
{
	const struct graph *g = v->g;
	for (tid t = 0; t < g->ntensor; t++)
		if (g->tensor[t]->alias != NONE)
			v->pinned[t] = v->pinned[g->tensor[t]->alias] = true;
}

/* --- which tensors may be views --- */

static bool takes(const struct views *v, const struct node *n, bool output, int i)
{
	const struct kernel *kernel = &n->op->kernel[v->env->backend];
	struct kplan k = { .g = v->g, .n = n, .dev = v->env->dev, .env = v->env->plan,
		.arena = v->scratch };
	if (v->rows)                 /* they are dense */
		return true;
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

/* Whether t has, or may have, views along the axis; then it is channels-last. */
static bool can_hold(const struct views *v, tid t, int axis)
{
	const struct tensor *x = v->g->tensor[t];
	if (x->role != ROLE_ACTIVATION || x->producer == NONE || v->pinned[t] || x->shape.nd < 2)
		return false;
	if (x->view != NONE || v->root[t])
		return x->view_axis == axis;
	return layout_is_native(&x->layout, &x->shape);
}

/* Whether t may become a view along the axis, judged by t alone. */
static bool can_move(const struct views *v, tid t, int axis)
{
	const struct tensor *x = v->g->tensor[t];
	return can_hold(v, t, axis) && x->view == NONE && !x->output && !v->root[t];
}

/* Makes t, range p of what is stored in `whole`, a view, unless it would not be aligned there. */
static void place(struct views *v, tid t, struct view whole, struct op_piece p)
{
	const struct tensor *root = v->g->tensor[whole.root];
	const int64_t at = whole.from + p.first,
	              bytes = view_bytes(&root->shape, root->dtype, p.axis, at);
	if (p.axis != 1 && memplan_aligned(v->g, bytes) != bytes)
		return;
	view_place(v->g, t, whole.root, p.axis, at);
	v->root[whole.root] = true;
}

/* --- concats --- */

static void concat(struct views *v, const struct node *n)
{
	struct graph *g = v->g;
	const struct view whole = view_of(g, n->out[0]);
	for (int i = 0; i < n->nin; i++) {
		const tid t = n->in[i];
		const struct op_piece p = n->op->piece(g, n, i);
		if (v->home[t] != n->id || !has_piece(v, n, i) || !can_hold(v, n->out[0], p.axis) ||
		    !can_move(v, t, p.axis))
			continue;
		if (g->tensor[t]->dtype == g->tensor[n->out[0]]->dtype && writer_takes(v, t) &&
		    readers_take(v, t))
			place(v, t, whole, p);
	}
}

/* Merges a concat of pieces that are already neighbours in one buffer. */
static void rejoin(struct views *v, const struct node *n)
{
	const struct view begin = view_of(v->g, n->in[0]);
	const int axis = n->op->piece(v->g, n, 0).axis;
	if (!has_piece(v, n, 0) || !can_move(v, n->out[0], axis) ||
	    v->g->tensor[n->in[0]]->view == NONE || begin.axis != axis)
		return;
	for (int i = 0; i < n->nin; i++) {
		const struct view w = view_of(v->g, n->in[i]);
		if (w.root != begin.root || w.from != begin.from + n->op->piece(v->g, n, i).first)
			return;
	}
	if (readers_take(v, n->out[0]))
		place(v, n->out[0], begin, (struct op_piece){ axis, 0 });
}

/* --- slices --- */

static void slice(struct views *v, const struct node *n)
{
	const struct op_piece p = n->op->piece(v->g, n, 0);
	if (has_piece(v, n, 0) && can_hold(v, n->in[0], p.axis) && can_move(v, n->out[0], p.axis) &&
	    readers_take(v, n->out[0]))
		place(v, n->out[0], view_of(v->g, n->in[0]), p);
}

/* --- all of them --- */

static void place_concats(struct views *v)
{
	const struct graph *g = v->g;
	find_homes(v);
	for (int i = g->nnode - 1; i >= 0; i--)
		if (g->node[i]->op->flags & OP_CONCAT)
			concat(v, g->node[i]);
}

static void place_slices(struct views *v)
{
	const struct graph *g = v->g;
	for (int i = 0; i < g->nnode; i++)
		if (g->node[i]->op->flags & OP_CONCAT)
			rejoin(v, g->node[i]);
		else if (g->node[i]->op->flags & OP_SLICE)
			slice(v, g->node[i]);
}

int pass_views(struct graph *g, struct pass_env *env)
{
	struct views v = { .g = g, .env = env, .scratch = arena_new() };
	v.readers = rewrite_readers(g, v.scratch);
	v.home = ARENA_ARRAY(v.scratch, nid, g->ntensor + 1);
	v.pinned = ARENA_ARRAY(v.scratch, bool, g->ntensor + 1);
	v.root = ARENA_ARRAY(v.scratch, bool, g->ntensor + 1);
	find_pinned(&v);
	for (int pass = 0; pass < 4; pass++) {
		v.rows = pass % 2;
		(pass < 2 ? place_concats : place_slices)(&v);
	}
	arena_free(v.scratch);
	return 0;
}
