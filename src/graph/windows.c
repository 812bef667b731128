/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places of windows. */
#include "graph/windows.h"

struct window window_of(const struct graph *g, tid t)
{
	const struct tensor *x = g->tensor[t];
	int64_t c = x->shape.nd < 2 ? 1 : x->shape.d[1];

	if (x->window == NONE)
		return (struct window){ t, 0, c };
	return (struct window){ x->window, x->window_at, x->window_at + c };
}

int64_t window_offset(const struct graph *g, tid t)
{
	const struct tensor *x = g->tensor[t];

	return x->window == NONE ? 0 : x->window_at * (int64_t)dtype_size(x->dtype);
}

bool window_in_place(const struct graph *g, const struct node *n, int i)
{
	bool join = n->op->flags & OP_JOIN;
	struct window whole, part;
	int64_t first;

	if (!n->op->part || !n->op->part(g, n, i, &first))
		return false;
	whole = window_of(g, join ? n->out[0] : n->in[0]);
	part = window_of(g, join ? n->in[i] : n->out[0]);
	return part.root == whole.root && part.from == whole.from + first;
}

bool node_runs(const struct graph *g, const struct node *n)
{
	if (n->op->flags & OP_VIEW)
		return false;
	if (!(n->op->flags & (OP_JOIN | OP_CUT)))
		return true;
	for (int i = 0; i < (n->op->flags & OP_JOIN ? n->nin : 1); i++)
		if (!window_in_place(g, n, i))
			return true;
	return false;
}
