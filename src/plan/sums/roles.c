/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each rank first plans independently. Rank 0 broadcasts its layouts, by name, and its buckets. If
 * any rank has others, for example because a kernel was chosen by the number of rows in its
 * subdomain, all ranks plan again. */
#include "plan/sums/roles.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "comm/comm.h"
#include "op/update/all_reduce.h"

static bool is_stored(const struct tensor *x)
{
	return (x->role == ROLE_PARAM || x->role == ROLE_STATE) && x->alias == NONE;
}

/* --- rank 0 --- */

static void write_layouts(const struct graph *g, struct buf *out)
{
	for (tid t = 0; t < g->ntensor; t++) {
		const struct tensor *x = graph_t(g, t);
		if (!is_stored(x))
			continue;
		buf_add(out, x->name, strlen(x->name) + 1);
		buf_add(out, (const char *)&x->layout, sizeof x->layout);
	}
}

static void broadcast_text(struct comm *c, struct buf *text)
{
	static const char what[] = "the layouts of parameters";
	uint64_t n = text->len;
	comm_broadcast(c, &n, sizeof n, 0, what);
	buf_reserve(text, n);
	comm_broadcast(c, text->data, n, 0, what);
	text->len = n;
}

static struct buckets *broadcast_buckets(struct arena *a, struct comm *c, const struct buckets *k)
{
	static const char what[] = "the buckets of gradients";
	struct buckets *all = ARENA_NEW(a, struct buckets);
	int n[2] = { k->n, k->params };
	comm_broadcast(c, n, sizeof n, 0, what);
	*all = (struct buckets){ .n = n[0], .params = n[1] };
	all->first = ARENA_ARRAY(a, int, n[0] + 1);
	all->order = ARENA_ARRAY(a, int, n[1] + 1);
	if (c->rank == 0) {
		memcpy(all->first, k->first, ((size_t)n[0] + 1) * sizeof *k->first);
		memcpy(all->order, k->order, (size_t)n[1] * sizeof *k->order);
	}
	comm_broadcast(c, all->first, ((size_t)n[0] + 1) * sizeof *k->first, 0, what);
	comm_broadcast(c, all->order, (size_t)n[1] * sizeof *k->order, 0, what);
	return all;
}

/* --- all ranks --- */

/* Gives the values of g those layouts. */
static int take_layouts(struct graph *g, const struct buf *text, bool *differ)
{
	int stored = 0;
	for (tid t = 0; t < g->ntensor; t++)
		stored += is_stored(graph_t(g, t));
	for (const char *p = text->data; p < text->data + text->len; stored--) {
		const char *name = p;
		struct layout l;
		p += strlen(p) + 1;
		memcpy(&l, p, sizeof l);
		p += sizeof l;
		tid t = graph_find(g, name);
		if (t == NONE || !is_stored(graph_t(g, t)))
			return ERR(E_BUG, NULL, "rank 0 stores '%s', which this rank does not", name);
		*differ |= !layout_equal(&graph_t(g, t)->layout, &l);
		graph_t(g, t)->layout = l;
	}
	return stored == 0 ? 0 : ERR(E_BUG, NULL, "this rank stores %d values that rank 0 does not",
	                             stored);
}

static bool same_buckets(const struct buckets *a, const struct buckets *b)
{
	return a->n == b->n && a->params == b->params &&
	       memcmp(a->first, b->first, ((size_t)a->n + 1) * sizeof *a->first) == 0 &&
	       memcmp(a->order, b->order, (size_t)a->params * sizeof *a->order) == 0;
}

int roles_share(struct roles *out, struct arena *a, struct comm *c, const struct device *dev,
                const struct plan *p)
{
	struct buf text = BUF_INIT;
	bool differ = false;
	*out = (struct roles){ .layouts = store_new(dev, 0) };
	if (c->rank == 0)
		write_layouts(p->g, &text);
	broadcast_text(c, &text);
	int rc = take_layouts(p->g, &text, &differ);
	buf_release(&text);
	if (rc == 0 && !p->buckets)
		rc = ERR(E_BUG, NULL, "a plan for several ranks sums nothing");
	TRY(comm_agree(c, rc, "the layouts of parameters"));
	out->buckets = broadcast_buckets(a, c, p->buckets);
	double any = differ || !same_buckets(out->buckets, p->buckets);
	comm_max(c, &any, 1, "the layouts of parameters");
	out->differ = any > 0;
	return store_note(out->layouts, p->g);
}

void roles_release(struct roles *r)
{
	store_free(r->layouts);
	r->layouts = NULL;
}

/* --- what all have --- */

static uint64_t of_value(const struct tensor *x)
{
	const struct layout *l = &x->layout;
	int64_t v[4 + 3 * MAXD + LAYOUT_MAXBLK] = { x->dtype, l->nd, l->nblk };
	int n = 3;
	for (int d = 0; d < l->nd; d++) {
		v[n++] = l->dims[d];
		v[n++] = l->stride[d];
	}
	for (int k = 0; k < l->nblk; k++)
		v[n++] = l->blk[k] * MAXD + l->blk_dim[k];
	return hash_bytes(v, (size_t)n * sizeof *v, hash_name(x->name));
}

/* The order of tensors in a graph is its own matter, but not in a sum. */
uint64_t roles_fingerprint(const struct plan *p)
{
	const struct graph *g = p->g;
	uint64_t values = (uint64_t)p->batch, sums = 0;
	for (tid t = 0; t < g->ntensor; t++)
		if (is_stored(graph_t(g, t)))
			values += of_value(graph_t(g, t));
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		const struct all_reduce_attr *at = all_reduce_begins(n);
		if (!at)
			continue;
		uint64_t h = hash_bytes(&at->factor, sizeof at->factor, (uint64_t)at->group);
		for (int k = 0; k < n->nin; k += 2)
			h = hash_bytes(&h, sizeof h, hash_name(graph_t(g, graph_root(g, n->in[k]))->name));
		sums += hash_bytes(&at->wire, sizeof at->wire, h);
	}
	return hash_bytes(&sums, sizeof sums, values);
}
