/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turns a limit for the whole step into one for the live bytes of its arena. Placing buffers can
 * lose a little, so a choice is placed before it is committed; if it does not fit, the search goes
 * on with a limit that is lower by the excess. */
#include "plan/memory/memory.h"

#include <math.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/memplan.h"

#define TRIES 4

/* Bytes of a step outside its arena; without its inputs and constants: of params and states. */
static int64_t fixed_bytes(const struct graph *g, bool inputs)
{
	int64_t sum = 0;
	for (tid t = 0; t < g->ntensor; t++) {
		const struct tensor *x = graph_t(g, t);
		const bool value = x->role == ROLE_PARAM || x->role == ROLE_STATE;
		if (x->alias == NONE && (value || (inputs && x->role != ROLE_ACTIVATION)))
			sum += tensor_kept_bytes(g, t);
	}
	return sum;
}

/* A copy of the nodes' workspaces, by id; mem_free it. */
static size_t *workspaces(const struct exec *e, const struct graph *g)
{
	size_t *ws = mem_alloc(((size_t)g->nnode + 1) * sizeof *ws);
	for (int i = 0; i < g->nnode; i++)
		ws[i] = exec_workspace(e, i);
	return ws;
}

/* Searches for a choice whose arena fits in `budget` bytes; if none does, *choice is the one with
 * the smallest arena. *arena: the bytes that the choice needs. */
static int search(struct recompute *r, int64_t budget, struct recompute_choice *choice,
                  int64_t *arena)
{
	int64_t target = budget;
	for (int i = 0; i < TRIES; i++) {
		recompute_choose(r, target, false, choice);
		TRY(recompute_arena(r, arena));
		if (*arena <= budget)
			return 0;
		if (!choice->fits)
			break;
		target -= *arena - budget;
	}
	recompute_choose(r, 0, false, choice);
	return recompute_arena(r, arena);
}

static int refuse(const struct recompute_choice *least, int64_t arena, const struct graph *g,
                  const struct memory_limit *w, int64_t fixed)
{
	double mib = 1 << 20;
	return ERR(E_CONFIG, w->loc, "a step of %lld samples cannot do with %.3g MiB: however much is "
	           "computed again, it needs about %.0f MiB (%.0f for parameters, optimizer and "
	           "inputs), most of it at node '%s' (%s); make 'train.memory.limit' larger, or "
	           "'train.batch_size' smaller (with 'train.accumulate' larger), or the samples",
	           (long long)w->batch, (double)w->limit / mib, ceil((double)(fixed + arena) / mib),
	           (double)fixed / mib, g->node[least->node]->name, g->node[least->node]->op->name);
}

int memory_least(const struct exec *e, struct graph *g, int64_t *arena)
{
	const int64_t kept = (int64_t)exec_arena_bytes(e);
	struct recompute_choice least;
	size_t *ws = workspaces(e, g);
	struct recompute *r = recompute_new(g, ws);
	int rc = search(r, 0, &least, arena);
	if (*arena > kept)
		*arena = kept;
	recompute_free(r);
	mem_free(ws);
	return rc;
}

void memory_sweep(struct memory_sweep *s, const struct exec *e, struct graph *g)
{
	static const struct { const char *name; double share; bool cheap; } wanted[] = {
		{ "nothing", 1, true }, { "no convolutions", 0, true }, { "to 75 %", 0.75, false },
		{ "to 50 %", 0.5, false }, { "to the least", 0, false }
	};
	size_t *ws = workspaces(e, g);
	struct recompute *r = recompute_new(g, ws);
	int64_t kept = g->arena_lower_bound;
	s->n = 0;
	for (int i = 0; i < MEMORY_ROWS; i++) {
		struct memory_row *row = &s->row[s->n];
		row->name = wanted[i].name;
		recompute_choose(r, (int64_t)((double)kept * wanted[i].share), wanted[i].cheap,
		                 &row->choice);
		if (row->choice.fits || wanted[i].share == 0)
			s->n++;
	}
	recompute_free(r);
	mem_free(ws);
}

int memory_fit(struct exec **e, struct graph *g, const struct memory_limit *w,
               struct memory_fit *out)
{
	*out = (struct memory_fit){ fixed_bytes(g, true), (int64_t)exec_arena_bytes(*e),
		{ .fits = true } };
	const int64_t fixed = w->fixed ? w->fixed : fixed_bytes(g, !w->without_inputs);
	if (w->limit == INT64_MIN || out->kept <= w->limit - fixed)
		return 0;
	size_t *ws = workspaces(*e, g);
	struct recompute *r = recompute_new(g, ws);
	int64_t budget = w->limit - fixed, arena;
	exec_free(*e);
	*e = NULL;
	int rc = search(r, budget, &out->choice, &arena);
	if (rc == 0 && arena > budget) {
		out->least = fixed + arena;
		rc = refuse(&out->choice, arena, g, w, fixed);
	}
	if (rc == 0)
		recompute_commit(r);
	recompute_free(r);
	mem_free(ws);
	return rc;
}
