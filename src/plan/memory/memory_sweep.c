/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints a memory sweep, and searches for the largest batch. A sample needs about the same memory
 * in every batch. So the search guesses the batch from the plan at hand, plans it, and corrects the
 * guess by that plan, until a batch fits and the next larger one does not. */
#include "plan/memory/memory_sweep.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "graph/cost.h"
#include "graph/memplan.h"
#include "plan/memory/memory_budget.h"
#include "plan/program.h"

#define PLANS 5                  /* looked at in search of one number */
#define PLANS_GPU 2              /* where engines are looked for, and some compiled */
#define MOST  (1 << 24)          /* what the config takes */

/* --- the largest batch --- */

static int plans(const struct session *s)
{
	return s->dev->driver ? PLANS_GPU : PLANS;
}

/* The memory of plans for other batches: a part that does
 * not depend on the batch, and one for each sample. */
struct need {
	double fixed, each;
};

static double inputs_bytes(const struct graph *g)
{
	double sum = 0;
	for (tid t = 0; t < g->ntensor; t++)
		if (graph_t(g, t)->role == ROLE_INPUT)
			sum += (double)tensor_kept_bytes(g, t);
	return sum;
}

static struct need need_of(const struct plan *p, double arena)
{
	double inputs = inputs_bytes(p->g), batch = (double)p->batch;
	return (struct need){ (double)p->memory.fixed - inputs, (arena + inputs) / batch };
}

/* Plans a batch within `limit`. *total: the bytes of its step, whether or not that is within;
 * E_CONFIG: it cannot be. */
static int try_batch(const struct session *s, int64_t batch, int64_t limit, double *total)
{
	struct plan_request r = session_request(s, PLAN_TRAIN, batch);
	struct plan *p;
	r.trial = true;
	r.limit = limit;
	TRY(plan_new(&p, &r));
	*total = (double)p->memory.fixed + (double)exec_arena_bytes(p->exec);
	plan_free(p);
	return 0;
}

/* The largest batch with everything kept: `low` fits, `high` does not. */
static int search_plain(const struct session *s, struct need need, double have, int64_t *out)
{
	int64_t low = 0, high = MOST + 1;
	for (int i = 0; i < plans(s) && high - low > 1; i++) {
		double total, guess = (have - need.fixed) / need.each;
		int64_t batch = guess <= (double)low ? low + 1 : guess >= (double)high ? high - 1 :
		                (int64_t)guess;
		if (batch == low)
			batch++;
		TRY(try_batch(s, batch, INT64_MIN, &total));
		if (total <= have)
			low = batch;
		else
			high = batch;
		need.each = (total - need.fixed) / (double)batch;
	}
	*out = low;
	return 0;
}

/* The largest batch within a limit; refusals on the way are no errors. */
static int search_recomputed(const struct session *s, struct need need, double have, int64_t plain,
                             int64_t *out)
{
	double guess = (have - need.fixed) / need.each;
	*out = plain;
	for (int i = 0; i < plans(s) && guess >= (double)plain + 1; i++,
	     guess -= guess > 32 ? guess / 32 : 1) {
		double total;
		int mark = err_count(), rc = try_batch(s, guess < MOST ? (int64_t)guess : MOST,
		                                       (int64_t)have, &total);
		if (rc == 0) {
			*out = guess < MOST ? (int64_t)guess : MOST;
			return 0;
		}
		if (rc != E_CONFIG)
			return rc;
		err_truncate(mark);
	}
	return 0;
}

/* The memory of a run besides its training step: inputs of other plans, tables. */
static double outside_step(const struct session *s)
{
	const struct plan *p = session_plan(s, PLAN_TRAIN);
	double step = (double)p->memory.fixed + (double)s->arena_bytes;
	return (double)memory_budget_run(s) > step ? (double)memory_budget_run(s) - step : 0;
}

/* Whether evaluations, whose batch may be one sample already, leave a batch to look for. */
static bool evaluations_fit(const struct session *s, double have)
{
	double arena = 0;
	for (int i = 0; i < s->nprogram; i++) {
		const struct program *p = &s->program[i];
		if (p->mode == PLAN_EVALUATE && p->plan && (double)exec_arena_bytes(p->plan->exec) > arena)
			arena = (double)exec_arena_bytes(p->plan->exec);
	}
	return (double)session_plan(s, PLAN_TRAIN)->memory.fixed + arena <= have;
}

int memory_sweep_batch(const struct session *s, struct memory_sweep_batch *b)
{
	const struct plan *p = session_plan(s, PLAN_TRAIN);
	const struct memory_sweep *m = &p->sweep;
	int64_t limit = s->config->train.memory.limit;
	struct memory_budget r;
	*b = (struct memory_sweep_batch){ limit, "limit", -1, -1 };
	double have = (double)limit;
	if (limit == INT64_MIN) {
		memory_budget_get(s, &r);
		b->have = r.now;
		b->by = r.by_now;
		have = (double)r.now - outside_step(s);
	}
	if (b->have <= 0 || m->n == 0)
		return 0;
	if (!evaluations_fit(s, have)) {
		b->plain = b->recomputed = 0;
		return 0;
	}
	TRY(search_plain(s, need_of(p, (double)p->memory.kept), have, &b->plain));
	return search_recomputed(s, need_of(p, (double)m->row[m->n - 1].choice.bytes), have, b->plain,
	                         &b->recomputed);
}

/* --- printing --- */

/* The cost of the step without recomputation. */
static struct cost base_cost(const struct plan *p)
{
	struct cost c = graph_cost(p->g, EXEC_MICRO | EXEC_UPDATE);
	c.flops -= p->memory.choice.cost.flops;
	c.bytes -= p->memory.choice.cost.bytes;
	return c;
}

void memory_sweep_text(const struct session *s, struct buf *out)
{
	const struct plan *p = session_plan(s, PLAN_TRAIN);
	const struct memory_sweep *m = &p->sweep;
	struct cost base = base_cost(p);
	if (m->n == 0)
		return;
	buf_puts(out, "computed again     memory of a step   not kept   run again "
	         "  arithmetic   traffic\n");
	for (int i = 0; i < m->n; i++) {
		const struct recompute_choice *c = &m->row[i].choice;
		buf_printf(out, "  %-16s %12.1f MiB %10d %11d %+10.1f %% %+7.1f %%\n", m->row[i].name,
		           (double)(c->bytes + p->memory.fixed) / (1 << 20), c->buffers, c->copies,
		           cost_percent(c->cost.flops, base.flops),
		           cost_percent(c->cost.bytes, base.bytes));
	}
}

void memory_sweep_json(const struct session *s, struct buf *out)
{
	const struct plan *p = session_plan(s, PLAN_TRAIN);
	const struct memory_sweep *m = &p->sweep;
	struct memory_sweep_batch b;
	int mark = err_count();
	if (m->n == 0)
		return;
	buf_puts(out, ", \"recompute\": [");
	for (int i = 0; i < m->n; i++) {
		const struct recompute_choice *c = &m->row[i].choice;
		buf_printf(out, "%s{\"name\": \"%s\", \"peak\": %" PRId64
		           ", \"buffers\": %d, \"nodes\": %d, \"flops\": %.0f, "
		           "\"bytes\": %.0f}", i ? ", " : "", m->row[i].name, c->bytes + p->memory.fixed,
		           c->buffers, c->copies, c->cost.flops, c->cost.bytes);
	}
	buf_puts(out, "]");
	if (memory_sweep_batch(s, &b) < 0)
		err_truncate(mark);
	else if (b.plain >= 0)
		buf_printf(out, ", \"largest_batch\": {\"memory\": %" PRId64 ", \"kept\": %" PRId64
		           ", \"recomputed\": %" PRId64
		           "}", b.have, b.plain, b.recomputed);
}
