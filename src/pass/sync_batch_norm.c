/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A norm over several ranks' batches waits for their all-reduce, so all ranks must reach these
 * nodes in the same order. This pass numbers them, and scheduling keeps that order, in plans for
 * full and for short batches. It runs after pass `fuse`, whose rules match norms of one rank. */
#include "pass/sync_batch_norm.h"

#include "graph/attr.h"
#include "op/loss/dice.h"
#include "op/norm/group_norm.h"
#include "op/norm/norm.h"
#include "pass/rewrite.h"

static bool is_norm(const struct node *n)
{
	return rewrite_is(n, "batch_norm") || rewrite_is(n, "batch_norm_grad");
}

/* The input `share` is the last input of the op. */
static void change(struct graph *g, struct node *n, tid share, int group)
{
	const int last = n->op->max_in - 1;
	tid *in = ARENA_ARRAY(g->arena, tid, last + 1);
	for (int i = 0; i < last; i++)
		in[i] = i < n->nin ? n->in[i] : NONE;
	in[last] = share;
	n->in = in;
	n->nin = last + 1;
	((struct norm_attr *)n->attr)->group = group;
}

void sync_batch_norm_emit(struct graph *g, tid share, bool all)
{
	int group = 0;
	for (int i = 0; i < g->nnode; i++) {
		struct node *n = g->node[i];
		if (is_norm(n) && (all || ((const struct norm_attr *)n->attr)->cut))
			change(g, n, share, group++);
		else if (!is_norm(n) && node_meets(n) && attr_find(n->op, n->attr, "group", FT_INT))
			*(int64_t *)attr_find(n->op, n->attr, "group", FT_INT) = group++;
	}
}

int64_t sync_batch_norm_values(const struct graph *g, const struct node *n)
{
	const struct shape *x = node_in_shape(g, n, 0);
	if (rewrite_is(n, "place_sum"))
		return norm_sync_message((shape_count(x) + 1) / 2);
	if (rewrite_is(n, "dice_loss"))
		return norm_sync_message(2 * x->d[1] * (((const struct dice_attr *)n->attr)->per_batch ? 1 :
		                                        x->d[0]));
	if (rewrite_is(n, "group_norm") || rewrite_is(n, "group_norm_grad"))
		return norm_sync_message(x->d[0] * ((const struct group_norm *)n->attr)->groups);
	return norm_sync_message(x->d[1]);
}

int sync_batch_norm_count(const struct graph *g, int64_t *bytes)
{
	int messages = 0;
	*bytes = 0;
	for (int i = 0; i < g->nnode; i++)
		if (node_meets(g->node[i])) {
			*bytes += sync_batch_norm_values(g, g->node[i]) * (int64_t)sizeof(double);
			messages++;
		}
	return messages;
}
