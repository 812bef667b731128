/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element types are chosen as if an input were float32, because shapes, gradients and fused ops of
 * the graph must not depend on the type in which it arrives. If each of its readers then rounds it
 * to 16 bits, the input may arrive rounded: a batch takes half the bytes in the transfer to a GPU
 * and in both memories, and the first node reads half as many. Any other reader would lose
 * precision, so then the input stays float32. */
#include "pass/rounded_input.h"

#include "base/err.h"
#include "base/mem.h"
#include "op/lib/slice.h"
#include "op/reorder.h"
#include "pass/rewrite.h"

static bool is_cast_to(const struct node *n, enum dtype type)
{
	return rewrite_is(n, "cast") && ((const struct cast_attr *)n->attr)->dtype == (int)type;
}

/* Whether values pass through n as they are. */
static bool passes_on(const struct node *n)
{
	return n->op->flags & OP_VIEW ||
	       (rewrite_is(n, "pad") && ((const struct pad *)n->attr)->value == 0);
}

static bool reads_one(const struct node *n, const bool *rounded)
{
	bool reads = false;
	for (int i = 0; i < n->nin && !reads; i++)
		reads = n->in[i] != NONE && rounded[n->in[i]];
	return reads;
}

/* Marks x and the tensors to which its values are passed unchanged. Nodes are in order. */
static bool follow(const struct graph *g, tid x, enum dtype type, bool *rounded)
{
	bool read = false;
	rounded[x] = true;
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];

		if (!reads_one(n, rounded))
			continue;
		if (graph_t(g, n->out[0])->output)
			return false;
		if (is_cast_to(n, type))
			read = true;
		else if (passes_on(n))
			rounded[n->out[0]] = true;
		else
			return false;
	}
	return read && !graph_t(g, x)->output;
}

bool rounded_input_suffices(const struct graph *g, tid x, enum dtype type)
{
	bool *rounded = mem_calloc((size_t)g->ntensor, sizeof *rounded);
	const bool suffices = graph_t(g, x)->dtype == DTYPE_F32 && follow(g, x, type, rounded);
	mem_free(rounded);
	return suffices;
}

int rounded_input_set(struct graph *g, tid x, enum dtype type)
{
	bool *rounded = mem_calloc((size_t)g->ntensor, sizeof *rounded);
	struct rewrite r;
	BUG_IF(!follow(g, x, type, rounded), "'%s' comes in %s, and more than that is read of it",
	       graph_t(g, x)->name, dtype_name(type));
	rewrite_begin(&r, g);
	for (tid t = 0; t < r.ntensor; t++)
		if (rounded[t])
			graph_t(g, t)->dtype = type;
	for (int i = 0; i < r.nnode; i++) {
		const struct node *n = g->node[i];

		if (!is_cast_to(n, type) || !rounded[n->in[0]])
			continue;
		rewrite_instead(&r, n->out[0], n->in[0]);
		rewrite_drop(&r, n);
	}
	mem_free(rounded);
	return rewrite_commit(&r, 0);
}
