/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places of views. */
#include "graph/view.h"

struct view view_of(const struct graph *g, tid t)
{
	const struct tensor *x = g->tensor[t];
	int64_t c = x->shape.nd < 2 ? 1 : x->shape.d[1];
	if (x->view == NONE)
		return (struct view){ t, 0, c };
	return (struct view){ x->view, x->view_at, x->view_at + c };
}

void view_place(struct graph *g, tid t, tid root, int64_t at)
{
	struct tensor *x = g->tensor[t];
	x->view = root == t ? NONE : root;
	x->view_at = at;
	x->layout = root == t ? layout_native(&x->shape) :
	            layout_slice(&x->shape, g->tensor[root]->shape.d[1]);
}

int64_t view_offset(const struct graph *g, tid t)
{
	const struct tensor *x = g->tensor[t];
	return x->view == NONE ? 0 : x->view_at * (int64_t)dtype_size(x->dtype);
}

bool view_in_place(const struct graph *g, const struct node *n, int i)
{
	bool concat = n->op->flags & OP_CONCAT;
	struct view whole, piece;
	int64_t first;
	if (!n->op->piece || !n->op->piece(g, n, i, &first))
		return false;
	whole = view_of(g, concat ? n->out[0] : n->in[0]);
	piece = view_of(g, concat ? n->in[i] : n->out[0]);
	return piece.root == whole.root && piece.from == whole.from + first;
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
