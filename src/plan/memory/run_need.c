/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans are tried one after the other, as a run makes them, with a store without memory. */
#include "plan/memory/run_need.h"

#include "base/arena.h"
#include "base/err.h"
#include "graph/cost.h"
#include "plan/memory/plan_memory.h"

struct trial {
	const struct session *s;
	const struct run_config *config;
	int64_t limit;
	bool least;
	struct store *store;
	struct ranks_plan ranks;
	const struct buckets *given[OBJECTIVES_MOST];
	struct reduction reduction;      /* whose memory is not there yet */
	struct arena *arena;
	struct run_need *out;
};

static struct plan_request request(const struct trial *t, const struct program *p,
                                   const struct plan_data *data)
{
	struct plan_request r = session_request(t->s, p->mode, p->batch);
	r.config = t->config;
	r.objective = &t->s->config->objectives.v[p->objective];
	r.scored = p->scored;
	r.gradients = p->gradients;
	r.trial = true;
	r.store = t->store;
	r.data = data;
	r.limit = t->limit;
	r.fixed = t->out->n && t->out->plan[0].mode == PLAN_TRAIN ? t->out->plan[0].fixed : 0;
	r.ranks = t->ranks;
	r.ranks.given = t->given[p->objective];
	r.keep_results = t->s->need & SESSION_DUMP;
	r.any_extent = p->mode == PLAN_PREDICT && t->s->tiles_agree;
	return r;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static double percent_again(const struct plan *p)
{
	const double again = p->memory.choice.cost.flops,
	             all = graph_cost(p->g, EXEC_MICRO | EXEC_UPDATE).flops;
	return cost_percent(again, all - again);
}

static int count(struct trial *t, const struct plan_request *r, int objective, struct plan *p)
{
	struct run_need *o = t->out;
	const int k = o->n++;
	o->plan[k].mode = p->mode;
	o->plan[k].fixed = r->fixed ? r->fixed : p->memory.fixed;
	o->plan[k].arena = o->plan[k].least = (int64_t)exec_arena_bytes(p->exec);
	o->fixed += plan_memory_values(p, t->store) + plan_memory_inputs(p, NULL);
	o->fixed += plan_memory_messages(t->s, p, p->batch);
	if (p->buckets && !t->given[objective]) {
		o->fixed += reduction_bytes(&t->reduction, p);
		t->given[objective] = buckets_copy(t->arena, p->buckets);
	}
	if (k == 0)
		o->again = percent_again(p);
	TRY(store_note(t->store, p->g));
	if (t->least)
		TRY(plan_least(p, r, &o->plan[k].least));
	o->arena = larger(o->arena, o->plan[k].arena);
	o->least = larger(o->least, o->plan[k].least);
	return 0;
}

/* The tables of kernels are allocated in planning. */
static int try_plan(struct trial *t, const struct program *program)
{
	const struct plan_data data = program_data(t->s, program);
	const struct plan_request r = request(t, program, &data);
	const size_t before = t->s->dev->memory->used;
	struct plan *p;
	TRY(plan_new(&p, &r));
	t->out->fixed += (int64_t)(t->s->dev->memory->used - before);
	int rc = count(t, &r, program->objective, p);
	plan_free(p);
	return rc;
}

static int try_all(struct trial *t)
{
	struct program list[PROGRAMS_MOST];
	const int n = programs_list(t->s, t->config, list);
	for (int i = 0; i < n; i++)
		TRY(try_plan(t, &list[i]));
	return 0;
}

int run_need(const struct session *s, const struct run_config *c, int64_t limit, bool least,
             struct run_need *out)
{
	struct trial t = { .s = s, .config = c, .limit = limit, .least = least, .ranks = s->ranks,
		.reduction = s->reduction, .store = store_new(s->dev, 0), .arena = arena_new(),
		.out = out };
	*out = (struct run_need){ .fixed = EXEC_ARENA_SLACK };
	t.reduction.sums = (struct links){ 0 };
	int rc = try_all(&t);
	store_free(t.store);
	arena_free(t.arena);
	return rc;
}

/* --- limits --- */

int64_t run_limit(const struct run_need *n, int64_t have)
{
	const int64_t arena = have - n->fixed;
	int64_t limit = have;
	for (int i = 0; i < n->n; i++)
		if (n->plan[i].arena > arena && n->plan[i].fixed + arena < limit)
			limit = n->plan[i].fixed + arena;
	return arena > 0 ? limit : 0;
}

int64_t run_least_limit(const struct run_need *n)
{
	int64_t limit = 0;
	for (int i = 0; i < n->n; i++)
		limit = larger(limit, n->plan[i].fixed + n->plan[i].least);
	return limit;
}
