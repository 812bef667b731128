/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One iteration = one update: `accumulate` micro-batches forward and backward, then the update. All
 * decisions between steps depend on the clock (step, epoch, batch) only, so all ranks make the
 * same. Events that only one rank knows, such as a signal to stop or the time to save, are votes
 * that are summed together with the loss. Only rank 0 writes. */
#include "train/run/loop.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/trace.h"
#include "plan/guard.h"
#include "plan/sums/reduction.h"
#include "report/trace_file.h"
#include "train/diagnose/account.h"
#include "train/run/batches.h"
#include "train/run/deferred_plans.h"
#include "train/run/loop_state.h"
#include "train/diagnose/nonfinite.h"
#include "train/run/ranks.h"
#include "train/run/rates.h"
#include "train/save/replicas.h"
#include "train/run/target.h"

/* --- one step --- */

/* Decides for a single rank; several ranks agree during the
 * step, by the votes in its all-reduce. */
static void vote_alone(struct loop *l)
{
	if (comm_many(l->comm))
		return;
	l->stop = loop_stop_wanted();
	l->save = loop_save_due(l, &l->clock);
	l->save_local = loop_save_local_due(l, &l->clock);
	l->report = rates_due(&l->rates);
}

/* With train.on_nonfinite: skip, whether loss scaling left the step out before the guard saw it. */
static bool skipped_by_scaling(const struct loop *l, const struct plan_result *r)
{
	return l->c->train.on_nonfinite == NONFINITE_SKIP &&
	       r->scaling[LOSS_SCALE_SKIPPED] > l->scaling[LOSS_SCALE_SKIPPED];
}

static int read_result(struct loop *l, const struct submitted *g, double *loss)
{
	struct plan_result r;
	TRY(plan_result(g->plan, &r));
	*loss = r.loss;
	l->weighed |= r.weight > 0;
	l->counted |= r.weight > 0 && r.loss != 0;
	l->left_out = left_out_why(l->guard, r.guard);
	if (l->left_out == LEFT_OUT_NOT && !isfinite(r.loss) && skipped_by_scaling(l, &r))
		l->left_out = LEFT_OUT_NONFINITE;
	memcpy(l->scaling, r.scaling, sizeof l->scaling);
	memcpy(l->guard, r.guard, sizeof l->guard);
	memcpy(l->value, r.value, sizeof *r.value * (size_t)r.nvalue);
	l->nvalues = r.nvalue;
	if (comm_many(l->comm)) {
		l->stop = r.stop;
		l->save = r.save;
		l->save_local = r.save_local;
		l->report = r.report;
	}
	const struct diverged_step d = { l->left_out == LEFT_OUT_NONFINITE ? 0 : *loss, l->scaling,
		l->guard, g->clock.step };
	int rc = diverged_check(&l->diverged, &d);
	if (rc == 0)
		return 0;
	if (l->left_out != LEFT_OUT_OUTLIER)
		rc = nonfinite_explain(l, rc, g->clock.step);
	return ranks_agree(l->comm, rc, "the loss");         /* it is the same on all */
}

/* --- between steps --- */

static int64_t samples_seen(const struct loop *l, const struct clock *c)
{
	return c->epoch * loop_epoch_samples(l) +
	       loader_samples_before(l->s->train, c->epoch, c->batch);
}

/* Checks whether the validation is the best so far, and lowers the learning rate if the schedule
 * requires it. All ranks make the same decision. */
static void watch_validation(struct loop *l)
{
	const struct schedule_context before = l->schedule;
	struct validations *w = &l->clock.validations;
	bool reduced;
	double was, is;
	if (l->watched_step == l->clock.step)      /* of a resumed run that is at its end */
		return;
	l->watched_step = l->clock.step;
	l->best |= validations_add(w, l->c, l->clock.step, l->metric, loop_validation_due(l), &reduced);
	l->schedule.reductions = w->plateau.reductions;
	was = schedule_rate(&l->c->schedule, &before, l->clock.step);
	is = schedule_rate(&l->c->schedule, &l->schedule, l->clock.step);
	if (reduced && is < was)
		progress_say(l->progress,
		             "step %" PRId64 "  %s gets no better: the learning rate falls from %g to %g",
		             l->clock.step, target_metric(l->c), was, is);
}

/* The answer of the caller, which the first rank has, is passed to all ranks. */
static void ask_watch(struct loop *l, double value)
{
	int go_on = 1;
	if (!l->watch)
		return;
	if (l->first)
		go_on = l->watch->validated(l->watch->self, l->clock.step, value);
	if (l->watch->decides && comm_many(l->comm))
		comm_broadcast(l->comm, &go_on, sizeof go_on, 0, "whether the run goes on");
	l->result->called_off = l->watch->decides && !go_on && !loop_finished(l, &l->clock);
}

static int validate(struct loop *l)
{
	struct evaluation *e = &l->result->evaluation;
	struct buf line = BUF_INIT;
	bool larger;
	TRY(loop_save_on_failure(l, deferred_make(l->s, PLAN_EVALUATE)));
	snapshot_settle(l->snapshot);
	TRY(replicas_average(l->comm, l->s->store, l->c->parallel.average_statistics));
	double start = io_seconds();
	int rc = evaluate(l->s, e);
	trace_mark(TRACE_RUN, "validation", start);
	if (rc == E_STOPPED) { /* the resumed run repeats the validation */
		l->stop = true;
		return 0;
	}
	TRY(rc);
	l->result->has_evaluation = true;
	l->evaluated_step = l->clock.step;
	double v = evaluation_find(e, target_metric(l->c), &larger);
	l->metric = larger ? v : -v;
	l->result->target_reached = target_reached(l->c, e);
	evaluation_line(e, &line);
	progress_say(l->progress, "step %" PRId64 "  epoch %" PRId64 "  validation: %s", l->clock.step,
	             l->clock.epoch, line.data);
	buf_release(&line);
	watch_validation(l);
	ask_watch(l, v);
	struct journal_at at = { l->clock.step, l->clock.epoch, samples_seen(l, &l->clock),
		loop_elapsed(l) };
	return !l->first ? 0 : loop_save_on_failure(l, journal_validation(l->journal, &at, e));
}

/* --- reporting --- */

static void smooth(double *average, double value, int64_t n)
{
	double share = n < 20 ? 1.0 / (double)n : 0.05;
	*average += share * (value - *average);
}

/* Epochs count from 1; the last step of one belongs to it. */
static int64_t epoch_of(const struct clock *c)
{
	return c->batch ? c->epoch + 1 : c->epoch;
}

/* Steps that loss scaling or the guard left out so far. */
static int64_t skipped(const struct loop *l)
{
	return (int64_t)(l->scaling[LOSS_SCALE_SKIPPED] + l->guard[GUARD_NONFINITE] +
	                 l->guard[GUARD_OUTLIERS]);
}

static int report_left_out(struct loop *l, const struct submitted *g, double loss)
{
	struct buf text = BUF_INIT;
	if (!l->first || l->left_out == LEFT_OUT_NOT)
		return 0;
	left_out_text(l->left_out, l->guard, loss, &text);
	progress_say(l->progress, "step %" PRId64 "  %s", g->clock.step, text.data);
	buf_clear(&text);
	left_out_json(l->left_out, l->guard, loss, &text);
	int rc = journal_skipped(l->journal, g->clock.step, text.data);
	buf_release(&text);
	return loop_save_on_failure(l, rc);
}

static void show_progress(struct loop *l, const struct submitted *g, double loss)
{
	int ranks = comm_count(l->comm);
	const struct spread *spread = &l->rates.spread;
	struct progress_state p = {
		.step = g->clock.step, .steps = l->schedule.total_steps, .epochs = l->epochs,
		.epoch = epoch_of(&g->clock), .loss = loss,
		.learning_rate = loop_rate(l, g->clock.step - 1), .value = l->value,
		.nvalues = l->nvalues,
		.samples_per_second = (double)g->samples / l->step_seconds,
		.flops_per_second = g->work * l->sample_flops / l->step_seconds,
		.wait_share = l->wait_seconds / l->step_seconds, .seconds_left = -1,
		.skipped = skipped(l),
		.work_median = spread->median, .work_most = spread->most, .exposed = spread->exposed,
		.ranks = spread->ranks,
		.slowest = spread->slowest, .slowest_host = spread->host };
	p.peak_flops = device_reached_peak(l->s->dev, config_compute(l->c), l->c->precision.tf32,
	                                   p.flops_per_second / ranks) * ranks;
	if (g->number >= 3)
		p.seconds_left = l->step_seconds * (double)(l->schedule.total_steps - g->clock.step);
	progress_update(l->progress, &p);
	if (l->watch && l->first)
		l->watch->stepped(l->watch->self, p.step, p.steps, loss);
}

/* Terms of the points of all ranks. Collective. */
static void average_terms(struct loop *l)
{
	double v[PORTS_MOST];
	if (!comm_many(l->comm) || l->nvalues == 0)
		return;
	for (int i = 0; i < l->nvalues; i++)
		v[i] = l->value[i].v;
	comm_sum(l->comm, v, l->nvalues, "the terms of all ranks");
	for (int i = 0; i < l->nvalues; i++)
		if (strncmp(l->value[i].name, "term/", strlen("term/")) == 0)
			l->value[i].v = v[i] / l->comm->size;
}

static int report_step(struct loop *l, const struct submitted *g, double loss)
{
	if (g->clock.step % l->c->report.every && !loop_finished(l, &g->clock))
		return 0;
	average_terms(l);
	if (!l->first)
		return 0;
	struct jsonl_step line = { .step = g->clock.step, .epoch = epoch_of(&g->clock), .loss = loss,
		.learning_rate = loop_rate(l, g->clock.step - 1),
		.samples_per_second = (double)g->samples / l->step_seconds, .seconds = loop_elapsed(l),
		.samples = samples_seen(l, &g->clock), .loss_scale = l->scaling[LOSS_SCALE_NOW],
		.guarded = guard_wanted(l->c), .skipped = skipped(l), .value = l->value,
		.nvalues = l->nvalues };
	if (l->s->ntrain_size) {
		const struct shape *x = loader_size(l->s->train, g->size).input;
		line.size = x->d + 1;
		line.axes = x->nd - 1;
	}
	return loop_save_on_failure(l, journal_step(l->journal, &line));
}

/* Queries the scheduler after the first step, since the query may take seconds. */
static void say_job_end(struct loop *l)
{
	char text[32];
	double left = job_end_ask(&l->job_end, l->c->checkpoint.reserve);
	if (isfinite(left))
		progress_say(l->progress, "the job ends in %s; the run will be saved and stopped before",
		             seconds_text(left, text));
}

/* Updates the rates and the spread of the ranks. Collective. */
static int update_rates(struct loop *l, bool end)
{
	struct journal_at at = { l->clock.step, l->clock.epoch, samples_seen(l, &l->clock),
		loop_elapsed(l) };
	bool steps = l->rates.steps > 0;
	rates_update(&l->rates, l->comm, at.samples, at.seconds);
	if (l->first && steps)
		TRY(loop_save_on_failure(l, journal_rates(l->journal, &at, &l->rates,
		                                          l->sample_flops)));
	return loop_save_on_failure(l, slow_watch_look(&l->slow, &l->rates, l->journal, &at, end));
}

/* --- the loop --- */

/* submitted: the last step launched, or attempted. What was explained is left as it is. */
static int explain_failure(struct loop *l, int rc, int64_t submitted)
{
	if (l->explained || loop_note_durable(l) < 0)
		return rc;
	l->explained = true;
	return gpu_failure_explain(rc, l->s, l->clock.step - l->nsubmitted, submitted, &l->durable);
}

static void measure_step(struct loop *l, const struct submitted *g)
{
	double seconds = io_seconds() - l->retired_at;
	trace_mark(TRACE_RUN, "step", l->retired_at);
	l->retired_at += seconds;
	if (g->number > 2)
		l->result->step_allocations += g->allocations;
	rates_step(&l->rates, seconds, g->waited, g->work);
	slow_watch_step(&l->slow, seconds, g->waited, g->work);
	smooth(&l->step_seconds, seconds, g->number);
	smooth(&l->wait_seconds, g->waited, g->number);
	job_end_longest(&l->job_end, &l->job_end.step, seconds);
}

/* A step in which every label is ignored has a weight of 0: its loss is reported as 0, its gradient
 * is 0, and the next one goes on. An epoch of such steps, or a whole run, is data that teach
 * nothing. The weight is that of all ranks; where a step has no weight of its own, a loss of 0 is
 * all that is known, which a network that fits its data may have too. */
static int check_counted(struct loop *l, const struct submitted *g)
{
	if (l->counted || (g->number < l->schedule.steps_per_epoch && !loop_finished(l, &g->clock)))
		return 0;
	l->counted = true;
	if (l->weighed && l->first)
		warn("the loss was 0 in all of %" PRId64
		     " steps: either the network fits its data, or no label counts", g->number);
	if (l->weighed)
		return 0;
	return ranks_agree(l->comm, ERR(E_DATA, config_place(l->c, "data", "train"),
	                                "nothing has counted in %" PRId64 " steps up to "
	                   "step %" PRId64 ": every label is ignored, or its class has the weight 0",
	                   g->number, g->clock.step), "the loss");
}

/* Retires the oldest step in flight. */
static int retire_oldest(struct loop *l, struct submitted *g, double *loss)
{
	*g = l->submitted[0];
	int rc = read_result(l, g, loss);
	if (rc == 0)
		rc = check_counted(l, g);
	if (rc < 0)
		return explain_failure(l, rc, l->clock.step);
	l->submitted[0] = l->submitted[1];
	l->nsubmitted--;
	measure_step(l, g);
	return 0;
}

static int retire_step(struct loop *l)
{
	struct submitted g;
	double loss;
	TRY(retire_oldest(l, &g, &loss));
	TRY(loop_save_on_failure(l, journal_start(l->journal)));
	if (l->report && l->nsubmitted == 0)
		TRY(update_rates(l, false));
	TRY(report_left_out(l, &g, loss));
	if (l->left_out == LEFT_OUT_NONFINITE && l->nsubmitted == 0)
		TRY(nonfinite_look(l, &g));
	show_progress(l, &g, loss);
	return report_step(l, &g, loss);
}

static int retire_all(struct loop *l)
{
	while (l->nsubmitted)
		TRY(retire_step(l));
	return 0;
}

/* Drains the pipeline before a validation, a checkpoint or the end. */
static int step(struct loop *l, int64_t number)
{
	int rc = loop_submit(l, number);
	if (rc < 0)
		return explain_failure(l, rc, l->clock.step + 1);
	vote_alone(l);
	if (l->overlapped && number > 1 && !l->stop && !l->save && !l->save_local && !l->report &&
	    !loop_finished(l, &l->clock) && !loop_validation_due(l))
		return l->nsubmitted == READBACK_DEPTH ? retire_step(l) : 0;
	return retire_all(l);
}

/* Repeats the validation that a signal cut short; without
 * it the run would not know that it reached its target. */
static int repeat_validation(struct loop *l)
{
	if (!loop_validation_missing(l))
		return 0;
	const int64_t saved = l->saved_step;
	l->saved_step = -1; /* worth a checkpoint that knows its metric */
	TRY(validate(l));
	if (l->stop)
		l->saved_step = saved;
	return 0;
}

/* The trace is written as soon as its steps are done. */
static int write_trace(const struct loop *l, int64_t done)
{
	const char *path = l->trace;
	int rank = l->comm ? l->comm->rank : 0;
	if (!trace_on() || done < l->trace_steps)
		return 0;
	if (comm_count(l->comm) > 1)
		path = arena_printf(l->c->arena, "%s.%d", path, rank);
	return trace_file_write(path, l->c->run.name ? l->c->run.name : "dlx-train", rank, l->began);
}

/* Directly after the validation, so that the version knows its metric. */
static int save_best(struct loop *l)
{
	return l->best && l->c->checkpoint.keep.best ? loop_save(l, false) : 0;
}

static int end_stopped(struct loop *l)
{
	l->result->stopped = true;
	l->result->time_up = signals_pending() == SIGALRM;
	return 0;
}

static int run(struct loop *l)
{
	l->result->target_reached = l->clock.reached;
	l->result->at_end = l->clock.step > 0 && loop_finished(l, &l->clock);
	TRY(repeat_validation(l));
	if (l->stop)         /* before any step, so that the resumed run repeats it once more */
		return end_stopped(l);
	TRY(save_best(l));
	l->best = false;
	for (int64_t done = 1; !loop_finished(l, &l->clock) && !l->result->target_reached &&
	     !l->result->called_off && !validations_exhausted(&l->clock.validations, l->c); done++) {
		if (l->clock.batch + loop_step_batches(l) == l->batches)
			TRY(loop_save_on_failure(l, deferred_make(l->s, PLAN_TRAIN)));
		TRY(step(l, done));
		if (done == 1 && l->first)
			say_job_end(l);
		if (loop_validation_due(l) || (session_validates(l->s) && loop_finished(l, &l->clock)))
			TRY(validate(l));
		if (l->save)
			TRY(loop_save(l, false));
		else
			TRY(save_best(l));
		if (l->save_local && l->saved_local_step != l->clock.step)
			TRY(loop_save(l, true));
		l->best = false;
		TRY(loop_note_durable(l));
		TRY(write_trace(l, done));
		if (l->stop)
			return end_stopped(l);
	}
	if (session_validates(l->s) && l->evaluated_step != l->clock.step) {
		if (l->watched_step != l->clock.step)
			l->saved_step = -1;
		TRY(validate(l));
	}
	l->result->stopped = session_validates(l->s) && l->evaluated_step != l->clock.step;
	return 0;
}

static int finish_run(struct loop *l)
{
	TRY(loop_save_at_end(l));
	return update_rates(l, true);
}

/* A GPU may fail in a validation or while weights are read for a checkpoint, too. */
static int explain_any(struct loop *l, int rc)
{
	return rc < 0 ? explain_failure(l, rc, l->clock.step) : rc;
}

/* Saves the state if the journal cannot be written or an evaluation cannot be planned. */
static void rescue(struct loop *l)
{
	struct submitted g;
	double loss;
	while (l->nsubmitted)
		if (retire_oldest(l, &g, &loss) < 0)
			return;
	const struct plan *p = session_plan(l->s, PLAN_TRAIN);
	if (l->clock.step == 0 || reduction_flush(&l->s->reduction, l->s->store, p) < 0 || !l->first)
		return;
	loop_save_alone(l);
}

int train(struct session *s, const struct train_options *o, struct train_result *r)
{
	struct loop l = { .s = s, .c = s->config, .comm = s->comm, .first = comm_first(s->comm),
		.start = io_seconds(), .saved_at = io_seconds(), .saved_local_at = io_seconds(),
		.saved_step = -1, .saved_local_step = -1, .evaluated_step = -1, .watched_step = -1,
		.result = r, .job_end.at = INFINITY, .prefetched = { .loader = s->train, .dev = s->dev },
		.trace = o->trace, .trace_steps = o->trace_steps, .watch = o->watch,
		.clock.metric = NAN };
	memset(r, 0, sizeof *r);
	validations_begin(&l.clock.validations);
	s->dev->memory->running = true;
	l.overlapped = session_overlaps(s);
	l.progress = progress_new(l.first ? o->progress : PROGRESS_NONE);
	signals_watch();
	rates_begin(&l.rates, s);
	pace_begin(&l.pace, l.c->checkpoint.every.failures);
	slow_watch_begin(&l.slow, s);
	int rc = loop_prepare(&l, o);
	if (rc == 0)
		rc = explain_any(&l, run(&l));
	if (rc == 0)
		rc = explain_any(&l, finish_run(&l));
	if (rc < 0 && l.worth_saving)
		rescue(&l);
	if (rc == 0) {
		account_warn_later(s);
		rc = write_trace(&l, INT64_MAX);
	}
	if ((rc == E_IO || l.worth_saving) && l.safe)
		err_context(rc, "the last good checkpoint in '%s' is in place; continue with --resume",
		            l.c->run.dir);
	r->step = l.clock.step;
	r->epoch = l.clock.epoch;
	r->seconds = io_seconds() - l.start;
	r->rates = l.rates;
	r->validations = l.clock.validations;
	r->nonfinite = (int64_t)l.guard[GUARD_NONFINITE];
	r->outliers = (int64_t)l.guard[GUARD_OUTLIERS];
	r->gave_up = validations_exhausted(&l.clock.validations, l.c);
	r->sample_flops = l.sample_flops;
	journal_close(l.journal);
	ckpt_close(l.local);
	ckpt_close(l.ckpt);
	search_free(l.search);
	snapshot_free(l.snapshot);
	progress_free(l.progress);
	return rc;
}
