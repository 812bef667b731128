/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stores a sum in the memory of one of its operands. In a dense block the gradient of the
 * concatenation before a layer is a sum of two tensors: a slice of the block's gradient, and the
 * gradient of the layer's input. In a buffer of its own this sum would be as large as all outputs
 * of the block so far, while the block's gradient, which it replaces, is still alive. If a kernel
 * can add in place to a slice of a larger buffer (kernel.sums_into), this pass makes the sum a view
 * of that buffer; views of the sum become views of that buffer too.
 *
 * Sums with a whole buffer are left as they are: cuDNN may have an engine that includes the
 * addition, which takes no views and rounds only once.
 *
 * A buffer that is added to lives as long as its last slice, although its other parts may be dead.
 * So a sum is moved only if the step then needs less memory, not counting workspaces, which are not
 * known yet. The two largest sums of tiramisu (configs/tiramisu-sc18.yaml, two samples, bf16) have
 * 0.79 and 0.68 of 3.24 GB. Recomputation cannot shorten the life of such a buffer: the least
 * train.memory.limit of tiramisu is 4 % higher than without this pass.
 *
 * A result that may replace an operand (op.inplace) is stored in its place too if the operand is a
 * view of most rows of a buffer, as are a subdomain's own rows in the gradient of those that it has
 * joined with its neighbours' (pass/partition.h). The memory plan does that for whole buffers
 * only. */
#include "pass/pass.h"

#include "graph/layout_rule.h"
#include "graph/memplan.h"
#include "graph/view.h"
#include "pass/rewrite.h"

struct in_place {
	struct graph *g;
	struct arena *scratch;
	struct readers readers;
	int64_t *live;               /* by node: bytes */
	bool *moves;                 /* by tensor: it is being moved, as a sum or a view of one */
};

/* --- what may be moved --- */

/* Whether t owns a buffer that only views share. */
static bool is_buffer(const struct graph *g, tid t)
{
	const struct tensor *x = graph_t(g, t);
	for (tid i = 0; i < g->ntensor; i++)
		if (graph_t(g, i)->alias == t)
			return false;
	return x->role == ROLE_ACTIVATION && x->producer != NONE && x->alias == NONE &&
	       x->view == NONE && !x->output && x->shape.nd >= 2 &&
	       layout_is_native(&x->layout, &x->shape);
}

/* Whether every reader of t accepts a view of a buffer with more channels; a slice of t is a view
 * already. */
static bool readers_take(const struct in_place *p, tid t)
{
	const struct graph *g = p->g;
	for (int i = 0; i < readers_count(&p->readers, t); i++) {
		const struct reader *r = &readers_of(&p->readers, t)[i];
		const bool moves_nothing = r->n->op->flags & OP_SLICE && view_in_place(g, r->n, 0);
		if (!moves_nothing && !kernel_takes_view(g, r->n, g->backend, false, r->in))
			return false;
	}
	return true;
}

/* Whether, from n on, this range of the buffer is neither written nor read except as operand k of
 * n. */
static bool dies_there(const struct in_place *p, const struct node *n, int k, struct view w)
{
	const struct graph *g = p->g;
	for (tid t = 0; t < g->ntensor; t++) {
		const struct tensor *x = graph_t(g, t);
		if ((t != w.root && x->view != w.root) || x->producer == NONE)
			continue;
		const struct view v = view_of(g, t);
		if (v.from >= w.to || v.to <= w.from)
			continue;
		if (x->producer >= n->id || x->output)
			return false;
		for (int i = 0; i < readers_count(&p->readers, t); i++) {
			const struct reader *r = &readers_of(&p->readers, t)[i];
			if (r->n->id > n->id || (r->n == n && r->in != k))
				return false;
		}
	}
	return true;
}

/* Whether out[0] of n may be stored in the memory of its operand k. */
static bool may_move(const struct in_place *p, const struct node *n, int k)
{
	const struct graph *g = p->g;
	const tid out = n->out[0], in = n->in[k];
	if (in == NONE || !(n->op->kernel[g->backend].sums_into >> k & 1) ||
	    !view_is_strided(graph_t(g, in)))
		return false;
	const struct view w = view_of(g, in);
	return is_buffer(g, out) && is_buffer(g, w.root) &&
	       graph_t(g, in)->dtype == graph_t(g, out)->dtype &&
	       kernel_takes_view(g, n, g->backend, true, 0) &&
	       kernel_takes_view(g, n, g->backend, false, k) && readers_take(p, out) &&
	       dies_there(p, n, k, w);
}

/* Whether t has views along another axis. */
static bool divided_otherwise(const struct graph *g, tid t, int axis)
{
	for (tid i = 0; i < g->ntensor; i++)
		if (graph_t(g, i)->view == t && graph_t(g, i)->view_axis != axis)
			return true;
	return false;
}

/* The same for a result in place of rows. */
static bool may_replace(const struct in_place *p, const struct node *n, int k)
{
	const struct graph *g = p->g;
	const tid out = n->nout ? n->out[0] : NONE, in = n->in[k];
	if (out == NONE || in == NONE || !(n->op->inplace >> k & 1))
		return false;
	const struct tensor *x = graph_t(g, in), *y = graph_t(g, out);
	const struct view w = view_of(g, in);
	return x->view != NONE && w.axis != 1 && x->dtype == y->dtype &&
	       shape_equal(&x->shape, &y->shape) && layout_equal(&x->layout, &y->layout) &&
	       2 * shape_count(&x->shape) > shape_count(&graph_t(g, w.root)->shape) &&
	       is_buffer(g, out) && is_buffer(g, w.root) && !divided_otherwise(g, out, w.axis) &&
	       dies_there(p, n, k, w);
}

/* --- moving it --- */

/* out, and the views of it, become views of w's buffer; or of out, as they were. */
static void move(struct in_place *p, tid out, struct view w, bool back)
{
	struct graph *g = p->g;
	for (tid t = 0; t < g->ntensor; t++) {
		const int64_t at = graph_t(g, t)->view_at;
		if (p->moves[t])
			view_place(g, t, back ? out : w.root, w.axis, back ? at - w.from : at + w.from);
	}
}

/* Bytes of the fullest node. */
static int64_t peak(const struct in_place *p)
{
	int64_t most = 0;
	memplan_profile(p->g, NULL, p->live);
	for (nid i = 0; i < p->g->nnode; i++)
		most = p->live[i] > most ? p->live[i] : most;
	return most;
}

static void mark(struct in_place *p, tid out)
{
	for (tid t = 0; t < p->g->ntensor; t++)
		p->moves[t] = t == out || graph_t(p->g, t)->view == out;
}

/* Moves out[0] of n if the step then needs less memory than *least. */
static bool try_move(struct in_place *p, const struct node *n, int k, int64_t *least)
{
	const struct graph *g = p->g;
	const tid out = n->out[0];
	const struct view w = view_of(g, n->in[k]);
	mark(p, out);
	move(p, out, w, false);
	const int64_t now = peak(p);
	if (now >= *least) {
		move(p, out, w, true);
		return false;
	}
	*least = now;
	return true;
}

static bool move_any(struct in_place *p, int64_t *least)
{
	const struct graph *g = p->g;
	for (nid i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		for (int k = 0; k < n->nin && k < 32 && n->op->kernel[g->backend].sums_into; k++)
			if (may_move(p, n, k) && try_move(p, n, k, least))
				return true;
	}
	return false;
}

static void replace_rows(struct in_place *p, const struct node *n)
{
	for (int k = 0; k < n->nin && k < 32; k++)
		if (may_replace(p, n, k)) {
			mark(p, n->out[0]);
			move(p, n->out[0], view_of(p->g, n->in[k]), false);
			return;
		}
}

int pass_in_place(struct graph *g, struct pass_env *env)
{
	struct in_place p = { .g = g, .scratch = arena_new() };
	(void)env;
	p.readers = rewrite_readers(g, p.scratch);
	p.live = ARENA_ARRAY(p.scratch, int64_t, g->nnode + 1);
	p.moves = ARENA_ARRAY(p.scratch, bool, g->ntensor + 1);
	for (nid i = 0; i < g->nnode; i++)
		if (g->node[i]->op->inplace)
			replace_rows(&p, g->node[i]);
	for (int64_t least = peak(&p); move_any(&p, &least);)
		continue;
	arena_free(p.scratch);
	return 0;
}
