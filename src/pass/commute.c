/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moves activations after max-pool, before there are gradients. The maximum over windows of a
 * monotonic activation is the activation of the maximum, value for value and NaN for NaN, and then
 * the activation and its gradient work on the smaller tensor. Where two inputs have the same
 * activation, another of the two may get the gradient.
 *
 * Applies only where the activation has no other reader, and only right behind an op that the
 * activation does not fuse with: a row of the table lists them. */
#include <string.h>

#include "base/mem.h"
#include "pass/pass.h"

/* from the op that makes the input, on to what is swapped: `map`, then `pool` */
static const struct {
	const char *behind, *map, *pool;
} rows[] = {
	{ "conv", "relu", "max_pool" },
	{ "conv", "leaky_relu", "max_pool" },
};

static bool is(const struct node *n, const char *op)
{
	return n && !strcmp(n->op->name, op);
}

static struct node *maker(const struct graph *g, tid t)
{
	nid p = t == NONE ? NONE : g->tensor[t]->producer;

	return p == NONE ? NULL : g->node[p];
}

static bool fits(const struct graph *g, const int *uses, const struct node *pool)
{
	const struct node *map = maker(g, pool->in[0]);

	for (size_t i = 0; map && i < sizeof rows / sizeof *rows; i++)
		if (is(pool, rows[i].pool) && is(map, rows[i].map) &&
		    is(maker(g, map->in[0]), rows[i].behind))
			return uses[map->out[0]] == 1 && !g->tensor[map->out[0]]->output &&
			       map->phase == pool->phase;
	return false;
}

/* The pooled tensor keeps its id; what lay between the two gets its shape. */
static void swap(struct graph *g, struct node *pool)
{
	struct node *map = maker(g, pool->in[0]);
	const tid x = map->in[0], between = map->out[0], y = pool->out[0];
	const struct node first = *map;

	g->tensor[between]->shape = g->tensor[y]->shape;
	*map = *pool;
	map->id = first.id;
	map->in[0] = x;
	map->out[0] = between;
	for (int i = 1; i < map->nout; i++)
		if (map->out[i] != NONE)
			g->tensor[map->out[i]]->producer = map->id;
	const nid at = pool->id;
	*pool = first;
	pool->id = at;
	pool->in[0] = between;
	pool->out[0] = y;
}

int pass_commute(struct graph *g, struct pass_env *env)
{
	int *uses = mem_calloc((size_t)g->ntensor + 1, sizeof *uses);

	for (int i = 0; i < g->nnode; i++)
		for (int k = 0; k < g->node[i]->nin; k++)
			if (g->node[i]->in[k] != NONE)
				uses[g->node[i]->in[k]]++;
	for (int i = 0; i < g->nnode; i++)
		if (g->node[i]->nin > 0 && fits(g, uses, g->node[i]))
			swap(g, g->node[i]);
	mem_free(uses);
	return 0;
}
