/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The dependence edges of a graph in compressed rows, built by counting first and filling second.
 * The storage edges come from a list of readers for each version of a tensor; readers of a view
 * read the tensor that it shows. */
#include "graph/deps.h"

#include <string.h>

#include "base/mem.h"

tid version_of(const struct graph *g, tid t)
{
	for (;;) {
		const struct tensor *x = g->tensor[t];
		if (x->alias == NONE || x->producer == NONE ||
		    !(g->node[x->producer]->op->flags & OP_VIEW))
			return t;
		t = x->alias;
	}
}

bool overwrites(const struct graph *g, const struct node *n, int i)
{
	return n->out[i] != NONE && g->tensor[n->out[i]]->alias != NONE &&
	       !(n->op->flags & OP_VIEW);
}

static void use(const struct graph *g, const struct node *n, tid t, nid *last)
{
	const tid root = t == NONE ? NONE : graph_root(g, t);
	if (root != NONE && last[root] < node_last(n))
		last[root] = node_last(n);
}

nid *graph_last_use(const struct graph *g)
{
	nid *last = mem_alloc(((size_t)g->ntensor + 1) * sizeof *last);
	for (tid t = 0; t < g->ntensor; t++)
		last[t] = NONE;
	for (nid i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		for (int k = 0; k < n->nout; k++)
			use(g, n, n->out[k], last);
		for (int k = 0; k < n->nin; k++)
			use(g, n, n->in[k], last);
	}
	for (tid t = 0; t < g->ntensor; t++)
		if (g->tensor[t]->output)
			last[graph_root(g, t)] = g->nnode;
	return last;
}

/* Readers of each version: reader[first[t]] .. in order of the nodes. */
struct readers {
	int *first, *reader;
};

static void readers_build(struct readers *r, const struct graph *g)
{
	int *at;
	r->first = mem_calloc((size_t)g->ntensor + 1, sizeof *r->first);
	for (int i = 0; i < g->nnode; i++)
		for (int k = 0; k < g->node[i]->nin; k++)
			if (g->node[i]->in[k] != NONE)
				r->first[version_of(g, g->node[i]->in[k]) + 1]++;
	for (int t = 0; t < g->ntensor; t++)
		r->first[t + 1] += r->first[t];
	r->reader = mem_alloc(((size_t)r->first[g->ntensor] + 1) * sizeof *r->reader);
	at = mem_alloc(((size_t)g->ntensor + 1) * sizeof *at);
	memcpy(at, r->first, ((size_t)g->ntensor + 1) * sizeof *at);
	for (int i = 0; i < g->nnode; i++)
		for (int k = 0; k < g->node[i]->nin; k++)
			if (g->node[i]->in[k] != NONE)
				r->reader[at[version_of(g, g->node[i]->in[k])]++] = i;
	mem_free(at);
}

/* Calls edge(arg, from, to) for every edge. */
static void each_edge(const struct graph *g, const struct readers *r,
                      void (*edge)(struct deps *, int, int), struct deps *d)
{
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		for (int k = 0; k < n->nin; k++)
			if (n->in[k] != NONE && g->tensor[n->in[k]]->producer != NONE)
				edge(d, g->tensor[n->in[k]]->producer, i);
		for (int k = 0; k < n->nout; k++) {
			if (!overwrites(g, n, k))
				continue;
			tid old = version_of(g, g->tensor[n->out[k]]->alias);
			for (int j = r->first[old]; j < r->first[old + 1]; j++)
				if (r->reader[j] != i)
					edge(d, r->reader[j], i);
		}
	}
}

static void count_edge(struct deps *d, int from, int to)
{
	d->first[from + 1]++;
	d->npred[to]++;
}

/* first[] is shifted by one place while filling, so that it ends up right. */
static void fill_edge(struct deps *d, int from, int to)
{
	d->succ[d->first[from]++] = to;
}

void deps_build(struct deps *d, const struct graph *g)
{
	struct readers r;
	int n = g->nnode;
	readers_build(&r, g);
	d->n = n;
	d->first = mem_calloc((size_t)n + 2, sizeof *d->first);
	d->npred = mem_calloc((size_t)n + 1, sizeof *d->npred);
	each_edge(g, &r, count_edge, d);
	for (int i = 0; i < n; i++)
		d->first[i + 1] += d->first[i];
	d->succ = mem_alloc(((size_t)d->first[n] + 1) * sizeof *d->succ);
	each_edge(g, &r, fill_edge, d);
	memmove(d->first + 1, d->first, (size_t)n * sizeof *d->first);
	d->first[0] = 0;
	mem_free(r.first);
	mem_free(r.reader);
}

void deps_release(struct deps *d)
{
	mem_free(d->first);
	mem_free(d->succ);
	mem_free(d->npred);
}

void heap_init(struct heap *h, int cap)
{
	h->n = 0;
	h->key = mem_alloc(((size_t)cap + 1) * sizeof *h->key);
	h->id = mem_alloc(((size_t)cap + 1) * sizeof *h->id);
}

void heap_release(struct heap *h)
{
	mem_free(h->key);
	mem_free(h->id);
}

static bool less(const struct heap *h, int a, int b)
{
	return h->key[a] != h->key[b] ? h->key[a] < h->key[b] : h->id[a] < h->id[b];
}

static void swap(struct heap *h, int a, int b)
{
	int64_t key = h->key[a];
	int id = h->id[a];
	h->key[a] = h->key[b];
	h->id[a] = h->id[b];
	h->key[b] = key;
	h->id[b] = id;
}

void heap_push(struct heap *h, int64_t key, int id)
{
	int i = h->n++;
	h->key[i] = key;
	h->id[i] = id;
	for (; i > 0 && less(h, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(h, i, (i - 1) / 2);
}

int heap_pop(struct heap *h)
{
	int top = h->id[0], i = 0;
	swap(h, 0, --h->n);
	for (;;) {
		int c = 2 * i + 1;
		if (c + 1 < h->n && less(h, c + 1, c))
			c++;
		if (c >= h->n || !less(h, c, i))
			return top;
		swap(h, c, i);
		i = c;
	}
}
