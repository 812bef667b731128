/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dead-code elimination: removes nodes whose results have no reader. One reverse traversal marks
 * the nodes that outputs, updates and OP_NODCE need. */
#include "base/mem.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

/* Whether n is a root. */
static bool is_root(const struct graph *g, const struct node *n)
{
	if (n->op->flags & (OP_NODCE | OP_UPDATE))
		return true;
	for (int k = 0; k < n->nout; k++)
		if (n->out[k] != NONE && g->tensor[n->out[k]]->output)
			return true;
	return false;
}

int pass_dce(struct graph *g, struct pass_env *env)
{
	bool *wanted = mem_calloc((size_t)g->ntensor + 1, sizeof *wanted);
	struct rewrite r;
	rewrite_begin(&r, g);
	for (int i = g->nnode - 1; i >= 0; i--) {
		const struct node *n = g->node[i];
		bool kept = is_root(g, n);
		for (int k = 0; k < n->nout; k++)
			kept |= n->out[k] != NONE && wanted[n->out[k]];
		if (!kept)
			rewrite_drop(&r, n);
		for (int k = 0; kept && k < n->nin; k++)
			if (n->in[k] != NONE)
				wanted[n->in[k]] = true;
	}
	mem_free(wanted);
	return rewrite_commit(&r, 0);
}
