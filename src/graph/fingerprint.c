/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash of a whole graph, which ranks compare before the first step. It covers everything that
 * determines the computation, and nothing that may differ between equal plans (addresses, names of
 * files, lines of the config). */
#include <string.h>

#include "base/hash.h"
#include "graph/attr.h"
#include "graph/cost.h"

static void add_int(struct hash_state *h, int64_t v)
{
	unsigned char b[8];
	for (int i = 0; i < 8; i++)
		b[i] = (unsigned char)((uint64_t)v >> 8 * i);
	hash_update(h, b, sizeof b);
}

static void add_text(struct hash_state *h, const char *s)
{
	hash_update(h, s, strlen(s) + 1);
}

static void add_layout(struct hash_state *h, const struct layout *l)
{
	add_int(h, l->set);
	add_int(h, l->nd);
	add_int(h, l->nblk);
	for (int d = 0; d < l->nd; d++) {
		add_int(h, l->dims[d]);
		add_int(h, l->stride[d]);
	}
	for (int k = 0; k < l->nblk; k++) {
		add_int(h, l->blk[k]);
		add_int(h, l->blk_dim[k]);
	}
}

static void add_tensor(struct hash_state *h, const struct graph *g, tid id)
{
	const struct tensor *t;
	add_int(h, id);
	if (id == NONE)
		return;
	t = g->tensor[id];
	add_int(h, t->dtype);
	add_int(h, t->role);
	add_int(h, t->output);
	add_int(h, t->alias);
	add_int(h, t->view);
	add_int(h, t->view == NONE ? 0 : t->view_at);
	if (t->view != NONE && t->view_axis != 1)
		add_int(h, t->view_axis);
	add_int(h, t->shape.nd);
	for (int d = 0; d < t->shape.nd; d++)
		add_int(h, t->shape.d[d]);
	add_layout(h, &t->layout);
	if (t->role == ROLE_CONSTANT)
		hash_update(h, t->value, (size_t)shape_count(&t->shape) * dtype_size(t->dtype));
	else if (t->role != ROLE_ACTIVATION)
		add_text(h, t->name);
}

uint64_t graph_fingerprint(const struct graph *g)
{
	struct hash_state *h = hash_new();
	struct buf attr = BUF_INIT;
	uint64_t v;
	add_int(h, g->nnode);
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		add_text(h, n->op->name);
		add_int(h, n->phase);
		buf_clear(&attr);
		attr_text(&attr, n->op, n->attr, false);
		add_text(h, attr.data);
		add_int(h, n->nin);
		for (int k = 0; k < n->nin; k++)
			add_tensor(h, g, n->in[k]);
		add_int(h, n->nout);
		for (int k = 0; k < n->nout; k++)
			add_tensor(h, g, n->out[k]);
	}
	v = hash_value(h);
	buf_release(&attr);
	hash_free(h);
	return v;
}
