/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moves activations after max-pooling, before differentiation. The maximum of a monotonic
 * activation over a window equals the activation of the maximum, bit for bit and NaN for NaN. The
 * activation and its gradient then work on the smaller tensor. If several inputs of a window have
 * the same activation, another one of them may get the gradient.
 *
 * The pass applies only if the activation has no other reader, and only directly after an op with
 * which the activation cannot be fused: a row of the table lists these ops. */
#include "pass/pass.h"
#include "pass/rewrite.h"

/* ops from the one that makes the input to the pair that is swapped: `map`, then `pool` */
static const struct {
	const char *behind, *map, *pool;
} rows[] = {
	{ "conv", "relu", "max_pool" },
	{ "conv", "leaky_relu", "max_pool" },
};

static bool fits(const struct graph *g, const struct readers *readers, const struct node *pool)
{
	const struct node *map = rewrite_producer(g, pool->in[0]);
	for (size_t i = 0; map && i < sizeof rows / sizeof *rows; i++)
		if (rewrite_is(pool, rows[i].pool) && rewrite_is(map, rows[i].map) &&
		    rewrite_made_by(g, map->in[0], rows[i].behind))
			return readers_count(readers, map->out[0]) == 1 && !g->tensor[map->out[0]]->output &&
			       map->phase == pool->phase;
	return false;
}

/* The pooled tensor keeps its id; the tensor between the two nodes gets its shape. */
static void swap(struct graph *g, struct node *pool)
{
	struct node *map = rewrite_producer(g, pool->in[0]);
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
	struct arena *scratch = arena_new();
	const struct readers readers = rewrite_readers(g, scratch);
	for (int i = 0; i < g->nnode; i++)
		if (g->node[i]->nin > 0 && fits(g, &readers, g->node[i]))
			swap(g, g->node[i]);
	arena_free(scratch);
	return 0;
}
