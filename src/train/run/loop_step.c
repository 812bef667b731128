/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Submits one step to the device. Training and repeated steps (train/diagnose/rerun.h) share this
 * code. */
#include <inttypes.h>
#include <math.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/trace.h"
#include "train/run/equations.h"
#include "train/diagnose/look.h"
#include "train/run/loop_state.h"

int64_t loop_step_batches(const struct loop *l)
{
	return loader_step_batches(l->s->train, l->clock.epoch, l->clock.batch);
}

static struct clock after(const struct loop *l, int64_t batches)
{
	struct clock c = l->clock;
	c.step++;
	c.batch += batches;
	if (c.batch == l->batches) {
		c.batch = 0;
		c.epoch++;
	}
	return c;
}

bool loop_save_due(const struct loop *l, const struct clock *c)
{
	struct ckpt_clock now = { .step = c->step, .epoch = c->epoch, .epoch_end = c->batch == 0,
		.seconds = io_seconds() - l->saved_at, .interval = l->pace.interval };
	return ckpt_due(&l->c->checkpoint.every, &now);
}

bool loop_save_local_due(const struct loop *l, const struct clock *c)
{
	struct ckpt_clock now = { .step = c->step, .epoch = c->epoch, .epoch_end = c->batch == 0,
		.seconds = io_seconds() - l->saved_local_at };
	return l->c->checkpoint.local.dir && ckpt_due(&l->c->checkpoint.local.every, &now);
}

bool loop_stop_wanted(void)
{
	return signals_pending() != 0;
}

bool loop_finished(const struct loop *l, const struct clock *c)
{
	const struct train_section *t = &l->c->train;
	if (l->settled)
		return true;
	if (l->last)
		return c->step >= l->last;
	return (t->epochs && c->epoch >= t->epochs) || (t->steps && c->step >= t->steps);
}

/* Ranks' shares of a short batch may differ, and with them
 * their plans, so that graph launches would not match. */
static int run_plan(const struct loop *l, const struct plan *p, const struct batch *b,
                    unsigned phases)
{
	if (l->look)
		return look_run(l->look, p, phases);
	bool alike = !comm_many(l->comm) || b->all == loop_global_batch(l);
	return alike ? exec_run(p->exec, phases) : exec_run_eager(p->exec, phases);
}

/* The schedule of objective k, whose steps are a part of the run's. */
static struct schedule_context loop_schedule(const struct loop *l, int k)
{
	struct schedule_context s = l->schedule;
	const struct objectives *o = &l->c->objectives;
	s.base_rate = optim_learning_rate(o->v[k].optimizer);
	s.total_steps = objective_steps(o, k, s.total_steps);
	return s;
}

double loop_rate(const struct loop *l, int64_t step)
{
	const struct objectives *o = &l->c->objectives;
	const struct turn turn = objective_turn(o, step);
	const struct schedule_context context = loop_schedule(l, turn.objective);
	if (o->v[turn.objective].lbfgs)
		return 1;                    /* the search finds the length of a step */
	return schedule_rate(o->v[turn.objective].schedule, &context, turn.step);
}

static int end_search_step(struct loop *l)
{
	const char *reason;
	TRY(search_report(l->search, &reason));
	if (reason && !l->settled)
		progress_say(l->progress, "step %" PRId64 "  L-BFGS ends: %s", l->clock.step + 1, reason);
	l->settled |= reason != NULL;
	return 0;
}

/* m: the micro-batches that b is one of. next: the clock after the step. */
static int forward_backward(struct loop *l, const struct batch *b, int64_t micro,
                            const struct micros *m, const struct clock *next)
{
	const struct objectives *o = &l->c->objectives;
	const struct turn turn = objective_turn(o, l->clock.step);
	const struct objective *searched = o->v[turn.objective].lbfgs ? &o->v[turn.objective] : NULL;
	struct plan *p = session_plan_of(l->s, turn.objective, b);
	bool last = micro + 1 == m->n;
	struct plan_step at = { .step = l->clock.step, .own = turn.step, .micro = micro, .micros = m->n,
		.all_micros = m->all,
		.first = b->first - loader_samples_before(l->s->train, l->clock.epoch, l->clock.batch),
		.absent = b->absent,
		.stop = last && loop_stop_wanted(), .save = last && l->first && loop_save_due(l, next),
		.save_local = last && l->first && loop_save_local_due(l, next),
		.report = last && l->first && rates_due(&l->rates),
		.rate = loop_rate(l, l->clock.step) };
	double start = io_seconds();
	struct batch points = *b;
	if (l->s->equations) {
		TRY(equations_fill(l->s->equations, l->clock.step, &points));
		b = &points;
	}
	if (searched)
		TRY(search_propose(&l->search, l->s, p, searched, turn.step));
	TRY(plan_feed(p, l->c, b, &at));
	trace_mark(TRACE_RUN, "feed", start);
	if (l->look)
		look_batch(l->look, p, b, micro);
	TRY(run_plan(l, p, b, last ? ~0u : EXEC_MICRO));
	if (last)
		TRY(plan_ask(p));
	if (searched)
		TRY(end_search_step(l));
	l->submitted[l->nsubmitted].plan = p;
	l->submitted[l->nsubmitted].size = b->size;
	if (m->whole || (last && loop_finished(l, next)))
		return 0;
	TRY(batches_take_ahead(&l->prefetched));
	b = l->prefetched.batch;
	const struct turn then = objective_turn(o, l->clock.step + last);
	return b ? plan_prefetch(session_plan_of(l->s, then.objective, b), b) : 0;
}

int loop_submit(struct loop *l, int64_t number)
{
	struct micros m;
	uint64_t allocations = mem_count();
	double waited = loader_wait_seconds(l->s->train);
	if (l->nsubmitted == 0)
		l->retired_at = io_seconds();
	trace_step(l->clock.step);
	TRY(micros_begin(&m, l->c, &l->prefetched, loop_step_batches(l)));
	struct clock next = after(l, m.batches);
	for (int64_t i = 0; i < m.n; i++) {
		const struct batch *b;
		TRY(micros_next(&m, &b));
		TRY(forward_backward(l, b, i, &m, &next));
	}
	struct submitted *g = &l->submitted[l->nsubmitted++];
	g->before = l->clock;
	g->clock = next;
	g->samples = m.samples;
	g->work = loop_work(l, g);
	g->number = number;
	g->allocations = mem_count() - allocations;
	g->waited = loader_wait_seconds(l->s->train) - waited;
	l->clock = next;
	return 0;
}

bool loop_validation_due(const struct loop *l)
{
	const struct validate_section *v = &l->c->train.validate;
	if (!session_validates(l->s))
		return false;
	return (v->epochs && l->clock.batch == 0 && l->clock.epoch % v->epochs == 0) ||
	       (v->steps && l->clock.step % v->steps == 0);
}

/* One whose metric is not finite has no metric in its version, and counts. */
bool loop_validation_counted(const struct loop *l)
{
	return !isnan(l->clock.metric) || l->clock.validations.step == l->clock.step;
}

bool loop_validation_missing(const struct loop *l)
{
	return l->clock.step > 0 && !loop_validation_counted(l) && loop_validation_due(l);
}
