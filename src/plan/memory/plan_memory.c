/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tensor is alive at the fullest node if it is accessed both before and after that node. */
#include "plan/memory/plan_memory.h"

#include <string.h>

#include "base/mem.h"
#include "graph/memplan.h"
#include "plan/sums/messages.h"
#include "plan/sums/sync_reducer.h"

static bool is_entry(const struct tensor *t, enum role role)
{
	return t->role == role && t->alias == NONE;
}

static void mark_touched(const struct graph *g, const struct node *n, bool *touched)
{
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] != NONE)
			touched[graph_root(g, n->in[k])] = true;
	for (int k = 0; k < n->nout; k++)
		if (n->out[k] != NONE)
			touched[graph_root(g, n->out[k])] = true;
}

/* By tensor: whether its storage is live while node `at`
 * runs: touched by then, and again from then on. */
static bool *alive_at(const struct graph *g, nid at, struct arena *a)
{
	bool *before = ARENA_ARRAY(a, bool, g->ntensor + 1),
	     *after = ARENA_ARRAY(a, bool, g->ntensor + 1);
	for (int i = 0; i < g->nnode; i++) {
		if (i <= at)
			mark_touched(g, g->node[i], before);
		if (i >= at)
			mark_touched(g, g->node[i], after);
	}
	for (tid t = 0; t < g->ntensor; t++)
		before[t] = before[t] && (after[t] || graph_t(g, t)->output);
	return before;
}

void plan_memory(const struct plan *p, struct plan_memory *m)
{
	const struct graph *g = p->g;
	struct arena *a = arena_new();
	const bool *alive = g->arena_peak_node != NONE ? alive_at(g, g->arena_peak_node, a) : NULL;
	memset(m, 0, sizeof *m);
	for (tid t = 0; t < g->ntensor; t++) {
		const struct tensor *x = graph_t(g, t);
		m->parameters += is_entry(x, ROLE_PARAM) ? x->bytes : 0;
		m->optimizer += is_entry(x, ROLE_STATE) ? x->bytes : 0;
		m->inputs += is_entry(x, ROLE_INPUT) || is_entry(x, ROLE_CONSTANT) ?
		             tensor_kept_bytes(g, t) : 0;
		if (x->grad_of != NONE && x->role == ROLE_ACTIVATION && x->alias == NONE && alive &&
		    alive[t])
			m->gradients += x->bytes;
	}
	arena_free(a);
	if (g->arena_peak_node != NONE)
		m->workspace = (int64_t)exec_workspace(p->exec, g->arena_peak_node);
	m->activations = g->arena_bytes - m->workspace - m->gradients;
	m->peak = m->parameters + m->optimizer + m->inputs + g->arena_bytes;
}

int64_t plan_memory_values(const struct plan *p, const struct store *store)
{
	int64_t sum = 0;
	for (tid t = 0; t < p->g->ntensor; t++) {
		const struct tensor *x = graph_t(p->g, t);
		if ((is_entry(x, ROLE_PARAM) || is_entry(x, ROLE_STATE)) && !store_find(store, x->name))
			sum += (int64_t)store_padded((size_t)tensor_buffer_bytes(p->g, t));
	}
	return sum;
}

int64_t plan_memory_inputs(const struct plan *p, int64_t *staged)
{
	int64_t sum = 0;
	for (tid t = 0; t < p->g->ntensor; t++) {
		const struct tensor *x = graph_t(p->g, t);
		if (!is_entry(x, ROLE_INPUT) && !is_entry(x, ROLE_CONSTANT))
			continue;
		sum += tensor_kept_bytes(p->g, t);
		if (staged && x->role == ROLE_INPUT)
			*staged += tensor_staged_bytes(p->g, t);
	}
	return sum;
}

/* The ranks of a team follow each other in the grid, which may only be planned for. */
static int64_t exchange_memory(const struct session *s, const struct plan *p, int64_t n)
{
	int *host = mem_calloc((size_t)s->parts, sizeof *host);
	for (int i = 0; i < s->parts; i++)
		host[i] = rank_grid_host_of(&s->grid, s->team * s->parts + i);
	const int64_t bytes = messages_bytes(p->g, s->dev, &(struct exchange_hosts){ host,
	                                     s->cut.subdomain }, p->batch, n);
	mem_free(host);
	return bytes;
}

int64_t plan_memory_messages(const struct session *s, const struct plan *p, int64_t n)
{
	if (s->parts < 2)
		return 0;
	return exchange_memory(s, p, n) +
	       (p->mode == PLAN_TRAIN && s->ranks.sync_group > s->parts ? 0 :
	        sync_reducer_plan_bytes(p, s->dev, s->parts));
}
