/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Replaces nodes by new ones. */
#include "pass/replace.h"

#include "base/err.h"
#include "graph/attr.h"
#include "yaml/schema.h"

int replace_emit(struct graph *g, const struct node *old, const char *name, const struct node *from, int nin, const tid *in,
                 struct node **out)
{
	const struct op *op = op_find(name);
	void *attr = op->attr_size ? arena_alloc(g->arena, op->attr_size) : NULL;
	struct graph_context saved = graph_enter(g, old);
	int rc = op->attr_size ? schema_read(g->arena, NULL, op->attrs, name, &old->loc, attr) : 0;
	if (rc == 0 && attr)
		attr_carry(op, attr, old->op, old->attr);
	if (rc == 0 && attr && from)
		attr_carry(op, attr, from->op, from->attr);
	if (rc == 0)
		rc = graph_emit(g, name, attr, nin, in, 0, NULL);
	graph_leave(g, saved);
	*out = rc == 0 ? g->node[g->nnode - 1] : NULL;
	return rc;
}

void replace_output(struct graph *g, struct node *made, int i, tid old)
{
	if (old == NONE)
		return;
	graph_t(g, made->out[i])->producer = NONE;
	graph_t(g, old)->producer = made->id;
	made->out[i] = old;
}
