/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A node that normalises over several ranks' batches waits for their all-reduce,
 * so all ranks must reach these nodes in one order: this pass numbers them, and
 * scheduling keeps their order, in plans for full and for short batches alike.
 * Runs after pass fuse, whose rules match single-rank norms. */
#include "pass/sync_batch_norm.h"

#include "base/err.h"
#include "graph/attr.h"
#include "graph/op.h"
#include "op/norm/norm_team.h"
#include "pass/rewrite.h"

static const struct {
	const char *from, *to;
} forms[] = {
	{ "batch_norm", "sync_batch_norm" },
	{ "batch_norm_relu", "sync_batch_norm_relu" },
	{ "batch_norm_grad", "sync_batch_norm_grad" },
	{ "batch_norm_relu_grad", "sync_batch_norm_relu_grad" },
	{ "batch_norm_add_relu_grad", "sync_batch_norm_add_relu_grad" },
};

static const char *form_of(const struct node *n)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (rewrite_is(n, forms[i].from))
			return forms[i].to;
	return NULL;
}

static int change(struct graph *g, struct node *n, const char *to, tid share, int group)
{
	const struct op *op = op_find(to);
	tid *in = ARENA_ARRAY(g->arena, tid, op->max_in);

	for (int i = 0; i < op->max_in; i++)
		in[i] = i < n->nin ? n->in[i] : NONE;
	in[op->max_in - 1] = share;
	TRY(rewrite_become(g, n, to, op->max_in, in));
	*(int64_t *)attr_find(op, n->attr, "group", FT_INT) = group;
	return 0;
}

int sync_batch_norm_emit(struct graph *g, tid share)
{
	int group = 0;
	for (int i = 0; i < g->nnode; i++) {
		const char *to = form_of(g->node[i]);
		if (to)
			TRY(change(g, g->node[i], to, share, group++));
	}
	return 0;
}

int64_t sync_batch_norm_values(const struct graph *g, const struct node *n)
{
	return norm_team_message(node_in_shape(g, n, 0)->d[1]);
}

int sync_batch_norm_count(const struct graph *g, int64_t *bytes)
{
	int messages = 0;
	*bytes = 0;
	for (int i = 0; i < g->nnode; i++)
		if (g->node[i]->op->flags & OP_MEET) {
			*bytes += sync_batch_norm_values(g, g->node[i]) * (int64_t)sizeof(double);
			messages++;
		}
	return messages;
}
