/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that is already allocated is no longer part of the free memory, so only future allocations
 * are counted: values that the store lacks, and the inputs and constants of all plans that are not
 * bound yet. All plans share one arena. */
#include "plan/memory/memory_budget.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "comm/comm.h"
#include "graph/memplan.h"
#include "plan/sums/reduction.h"
#include "plan/memory/memory_advice.h"
#include "plan/memory/plan_memory.h"
#include "plan/program.h"
#include "plan/sums/sync_reducer.h"

/* One rank's share of memory that the ranks of a host divide, be they running or only planned. */
static int64_t share_of(const struct session *s, int64_t bytes)
{
	int ranks = s->host_ranks ? s->host_ranks :
	            comm_many(s->comm) ? s->comm->local_size : s->grid.most;
	return bytes / (ranks > 1 ? ranks : 1);
}

static int64_t reserve_of(const struct session *s, const struct device_memory_info *d)
{
	int64_t asked = s->config->train.memory.aside;
	if (asked != INT64_MIN)
		return asked;
	return d->reserve * (s->reduction.nccl || s->ranks.ranks > 1 ? 4 : 1);
}

/* An arena may give way to another one. */
static int64_t arena_there(const struct session *s)
{
	return s->arena ? (int64_t)s->bound_bytes + EXEC_ARENA_SLACK : 0;
}

static int64_t at_least_1(int64_t bytes)
{
	return bytes > 1 ? bytes : 1;
}

/* What this run has taken of the whole is not there for the rest of it. */
static void get_host_budget(const struct session *s, struct memory_budget *r)
{
	int64_t whole = share_of(s, host_memory_whole(&r->by)),
	        now = share_of(s, host_memory(&r->by_now));
	r->all = whole;
	r->have = whole ? at_least_1(whole - (int64_t)s->dev->memory->used + arena_there(s)) : 0;
	r->now = now ? at_least_1(now + arena_there(s)) : 0;
}

void memory_budget_get(const struct session *s, struct memory_budget *r)
{
	struct device_memory_info d;
	int mark = err_count();
	*r = (struct memory_budget){ .by = "machine", .by_now = "machine" };
	if (!s->dev->driver) {
		get_host_budget(s, r);
	} else if (s->dev->driver->memory_info(s->dev, &d) < 0) {
		err_truncate(mark);
	} else {
		*r = (struct memory_budget){ .by = "GPU", .by_now = "GPU", .total = d.total,
			.reserve = reserve_of(s, &d) };
		r->all = at_least_1(d.free - r->reserve + (int64_t)s->dev->memory->used);
		r->have = r->now = at_least_1(d.free - r->reserve + arena_there(s));
	}
}

/* --- needs --- */

static bool is_stored(const struct tensor *x)
{
	return (x->role == ROLE_PARAM || x->role == ROLE_STATE) && x->alias == NONE;
}

/* Of a plan like p for n samples. */
static int64_t own_bytes_of(const struct plan *p, int64_t n)
{
	int64_t sum = plan_memory_inputs(p, NULL);
	for (int i = 0; i < p->in.n; i++)
		if (!p->in.port[i].value)
			sum -= tensor_kept_bytes(p->g, p->in.port[i].t) / p->batch * (p->batch - n);
	return sum;
}

/* The plan like which a run has one for the short batch of program i, but not s, which does not
 * run; else NULL. */
static const struct plan *full_batch(const struct session *s, int i)
{
	const struct program *p = &s->program[i];
	return !(s->need & SESSION_RUN) && i > 0 && p->short_batch && !p->plan ? p[-1].plan : NULL;
}

/* Inputs of short batches. */
static int64_t short_bytes(const struct session *s)
{
	int64_t sum = 0;
	for (int i = 0; i < s->nprogram; i++)
		if (full_batch(s, i))
			sum += own_bytes_of(full_batch(s, i), s->program[i].batch);
	return sum;
}

static int list_plans(const struct session *s, const struct plan *all[PROGRAMS_MOST])
{
	int n = 0;
	for (int i = 0; i < s->nprogram; i++)
		if (s->program[i].plan)
			all[n++] = s->program[i].plan;
	return n;
}

struct memory_need memory_need(const struct session *s, const struct plan *p)
{
	const struct plan *all[PROGRAMS_MOST];
	struct memory_need need = { plan_memory_values(p, s->store) + plan_memory_inputs(p, NULL),
		(int64_t)exec_arena_bytes(p->exec) };
	need.fixed += reduction_bytes(&s->reduction, p) +
	              plan_memory_messages(s, p, p->batch);
	for (int i = s->arena ? 0 : list_plans(s, all); i-- > 0;)
		if (all[i] != p)
			need.fixed += plan_memory_inputs(all[i], NULL);
	need.fixed += short_bytes(s);
	return need;
}

/* Values are counted once, though several plans have them. */
static int64_t values_bytes(const struct session *s, int n, const struct plan *const all[])
{
	int64_t sum = 0;
	for (int i = 0; i < n; i++)
		for (tid t = 0; t < all[i]->g->ntensor; t++) {
			const struct tensor *x = graph_t(all[i]->g, t);
			bool seen = !is_stored(x) || store_is_placed(s->store, x->name);
			for (int k = 0; k < i && !seen; k++)
				seen = graph_find(all[k]->g, x->name) != NONE;
			sum += seen ? 0 : (int64_t)store_padded((size_t)tensor_buffer_bytes(all[i]->g, t));
		}
	return sum;
}

/* Of each objective once. */
static int64_t sums_bytes(const struct session *s)
{
	int64_t sum = 0;
	int next = 0;
	for (int i = 0; i < s->nprogram; i++) {
		const struct program *p = &s->program[i];
		if (p->mode != PLAN_TRAIN || !p->plan || p->objective != next)
			continue;
		const struct reduction *r = next ? &s->further[next - 1].reduction : &s->reduction;
		sum += r->sums.gradients ? reduction_block(r, p->plan) : reduction_bytes(r, p->plan);
		next++;
	}
	return next ? sum + sync_reducer_bytes(s->sync, &s->reduction) : 0;
}

int64_t memory_messages(const struct session *s)
{
	int64_t sum = 0;
	for (int i = 0; i < s->nprogram; i++) {
		const struct plan *p = s->program[i].plan, *full = full_batch(s, i);
		if (p)
			sum += plan_memory_messages(s, p, p->batch);
		else if (full)
			sum += plan_memory_messages(s, full, s->program[i].batch);
	}
	return sum;
}

void memory_parts(const struct session *s, struct memory_parts *p)
{
	const struct plan *all[PROGRAMS_MOST];
	int n = list_plans(s, all);
	*p = (struct memory_parts){ .values = values_bytes(s, n, all),
		.arena = (int64_t)s->arena_bytes + EXEC_ARENA_SLACK,
		.sums = sums_bytes(s) + memory_messages(s), .tables = (int64_t)s->table_bytes };
	for (int i = 0; i < n; i++)
		p->inputs += plan_memory_inputs(all[i], NULL);
	p->inputs += short_bytes(s);
}

int64_t memory_budget_run(const struct session *s)
{
	struct memory_parts p;
	memory_parts(s, &p);
	return p.values + p.inputs + p.arena + p.sums + p.tables;
}

static int64_t all_loaders(const struct session *s)
{
	int64_t sum = loader_memory(s->train) + loader_memory(s->validation);
	for (int i = 0; i < s->nsize; i++)
		sum += loader_memory(s->size[i].loader);
	return sum;
}

int64_t memory_budget_host(const struct session *s)
{
	const struct plan *all[PROGRAMS_MOST];
	int64_t sum = all_loaders(s), state = 0;
	int n = list_plans(s, all);
	for (int i = 0; i < n; i++)
		plan_memory_inputs(all[i], &sum);
	const struct plan *train = session_plan(s, PLAN_TRAIN);
	for (tid t = 0; train && t < train->g->ntensor; t++) {
		const struct tensor *x = graph_t(train->g, t);
		if (is_stored(x) && state_is_kept(x->use))
			state += shape_count(&x->shape) * (int64_t)dtype_size(x->dtype);
	}
	return sum + state;                /* train/save/snapshot.h */
}

/* --- judging --- */

/* What batches travel from: the loader's memory, and copies where they travel in another form. */
static int check_host(const struct session *s, const struct plan *p)
{
	const char *by;
	int64_t have = share_of(s, host_memory_whole(&by)), staged = 0;
	double mib = 1 << 20;
	plan_memory_inputs(p, &staged);
	staged += s->data.pinned ? all_loaders(s) : 0;
	if (!s->dev->driver || s->dev->imagined || have == 0 || staged <= have)
		return 0;
	return ERR(E_TOO_LARGE, config_place(s->config, "train", "batch_size"),
	           "batches on their way to the GPU need %.1f MiB of pinned memory, but the %s offers "
	           "%.1f MiB; make 'train.batch_size' or 'data.prefetch' smaller", (double)staged / mib,
	           by, (double)have / mib);
}

/* That with the largest arena, which all share: of p and those that are there. */
static const struct plan *fullest(const struct session *s, const struct plan *p)
{
	const struct plan *all[PROGRAMS_MOST];
	for (int i = list_plans(s, all); i-- > 0;)
		if (exec_arena_bytes(all[i]->exec) > exec_arena_bytes(p->exec))
			p = all[i];
	return p;
}

int memory_budget_check(const struct session *s, const struct plan *p)
{
	struct memory_budget r;
	struct memory_need need = memory_need(s, p);
	TRY(check_host(s, p));
	if (need.arena <= (int64_t)s->bound_bytes)     /* it runs in what is there */
		return 0;
	p = fullest(s, p);
	need.arena = (int64_t)exec_arena_bytes(p->exec);
	memory_budget_get(s, &r);
	if (r.have == 0 || (need.fixed <= r.have && need.arena <= r.have - need.fixed))
		return 0;
	return memory_advice_refuse(s, p, &r, &need);
}

void memory_budget_warn(const struct session *s)
{
	struct memory_budget r;
	int64_t need = memory_budget_run(s) - (int64_t)s->dev->memory->used;
	memory_budget_get(s, &r);
	if (s->dev->driver || r.now == 0 || need <= r.now || !comm_first(s->comm))
		return;
	warn("the run needs %.1f MiB more, but of the %s's memory only %.1f MiB are free now; it may "
	     "be ended by the system", (double)need / (1 << 20), r.by_now, (double)r.now / (1 << 20));
}

void memory_budget_json(const struct session *s, struct buf *out)
{
	struct memory_budget r;
	memory_budget_get(s, &r);
	if (s->dev->imagined)
		buf_puts(out, ", \"gpu\": \"described\"");
	buf_printf(out, ", \"run\": %" PRId64 ", \"offered\": %" PRId64 ", \"free\": %" PRId64,
	           memory_budget_run(s), r.have, r.now);
	if (r.have > 0)
		buf_printf(out, ", \"fits\": %s", memory_budget_run(s) -
		           (int64_t)s->dev->memory->used <= r.have ? "true" : "false");
	if (s->dev->driver)
		buf_printf(out, ", \"aside\": %" PRId64 ", \"host\": %" PRId64, r.reserve,
		           memory_budget_host(s));
}
