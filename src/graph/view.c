/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places of views. */
#include "graph/view.h"

struct view view_of(const struct graph *g, tid t)
{
	const struct tensor *x = g->tensor[t];
	const int64_t n = x->shape.nd < 2 ? 1 : x->shape.d[x->view_axis];
	if (x->view == NONE)
		return (struct view){ t, x->view_axis, 0, n };
	return (struct view){ x->view, x->view_axis, x->view_at, x->view_at + n };
}

bool view_divides(const struct shape *s, int axis)
{
	bool outer = s->d[0] == 1;
	for (int i = 2; i < axis; i++)
		outer = outer && s->d[i] == 1;
	return s->nd >= 2 && axis < s->nd && (axis == 1 || (axis >= 2 && outer));
}

void view_place(struct graph *g, tid t, tid root, int axis, int64_t at)
{
	struct tensor *x = g->tensor[t];
	x->view = root == t ? NONE : root;
	x->view_at = at;
	x->view_axis = g->tensor[root]->view_axis = axis;
	x->layout = view_is_strided(x) ? layout_slice(&x->shape, g->tensor[root]->shape.d[1]) :
	            layout_native(&x->shape);
}

int64_t view_bytes(const struct shape *s, enum dtype type, int axis, int64_t at)
{
	return at * layout_native(s).stride[axis] * (int64_t)dtype_size(type);
}

int64_t view_offset(const struct graph *g, tid t)
{
	const struct tensor *x = g->tensor[t];
	return x->view == NONE ? 0 : view_bytes(&g->tensor[x->view]->shape, x->dtype, x->view_axis,
	                                        x->view_at);
}

bool view_in_place(const struct graph *g, const struct node *n, int i)
{
	const bool concat = n->op->flags & OP_CONCAT;
	if (!n->op->piece)
		return false;
	const struct view whole = view_of(g, concat ? n->out[0] : n->in[0]),
	                  piece = view_of(g, concat ? n->in[i] : n->out[0]);
	const struct op_piece p = n->op->piece(g, n, i);
	return piece.root == whole.root && piece.axis == p.axis && piece.from == whole.from + p.first;
}

bool node_runs(const struct graph *g, const struct node *n)
{
	if (n->op->flags & OP_VIEW)
		return false;
	if (!(n->op->flags & (OP_CONCAT | OP_SLICE)))
		return true;
	for (int i = 0; i < (n->op->flags & OP_CONCAT ? n->nin : 1); i++)
		if (!view_in_place(g, n, i))
			return true;
	return false;
}
