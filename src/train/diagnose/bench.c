/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Repeats steps on the first batch, to measure the step without the reader. With several ranks a
 * step takes the time of the slowest rank, and processes the samples of all. */
#include "train/diagnose/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "plan/describe/describe.h"
#include "plan/time/profile.h"
#include "plan/sums/reduction.h"
#include "train/diagnose/account.h"
#include "train/run/opening.h"
#include "train/diagnose/spread.h"
#include "train/run/synthetic.h"

#define WARM_UP 3
#define PROFILE_RUNS 10

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

struct times {
	double *steps;                 /* seconds of each */
	double *starts;                /* of them the host's, until the
	                                * device had been given the step */
	double first;                  /* from the start of the process to the end of the first step */
	double queued;                 /* a step's seconds where none waits for the
	                                * one before; 0: not measured */
};

static double median(double *t, int64_t n)
{
	qsort(t, (size_t)n, sizeof *t, by_value);
	return t[n / 2];
}

/* As in training: on an asynchronous device two steps are in flight, and the time of a step is that
 * between two readbacks. */
static int time_steps(struct plan *p, bool overlapped, int64_t steps, struct times *out)
{
	double answered = 0;
	int open = 0;
	for (int64_t i = -WARM_UP; i < steps; i++) {
		struct plan_result r;
		double t0 = io_seconds();
		if (open++ == 0)
			answered = t0;
		TRY(exec_run(p->exec, ~0u));
		TRY(plan_ask(p));
		if (i >= 0)
			out->starts[i] = io_seconds() - t0;
		for (bool all = !overlapped || i < 0 || i + 1 == steps; open > (all ? 0 : 1); open--) {
			TRY(plan_result(p, &r));
			double now = io_seconds();
			if (i + 1 - open >= 0)
				out->steps[i + 1 - open] = now - answered;
			answered = now;
		}
		if (i == -WARM_UP)
			out->first = io_process_age();
	}
	return 0;
}

/* Asynchronous devices: launches the steps back to back and synchronises once. */
static int time_queue(struct plan *p, const struct device *d, int64_t steps, struct times *out)
{
	double t0 = io_seconds();
	for (int64_t i = 0; i < steps && d->driver; i++)
		TRY(exec_run(p->exec, ~0u));
	TRY(device_finish(d));
	out->queued = d->driver ? (io_seconds() - t0) / (double)steps : 0;
	return 0;
}

/* samples: of all ranks in a step. */
static void print_line(const struct plan *p, int64_t samples, struct times *t, int64_t steps,
                       const struct profile *f, struct buf *out)
{
	double step = median(t->steps, steps), flops = 3 * describe_forward_flops(p) * (double)samples;
	buf_printf(out, "{\"samples_per_second\": %.4f, \"tflops\": %.4f, \"step_median\": %.6f, "
	           "\"step_min\": %.6f, \"step_max\": %.6f, \"steps\": %" PRId64 ", \"batch\": %" PRId64
	           ", \"parameters\": %" PRId64 ", \"peak_memory\": %" PRIu64
	           ", \"first_step\": %.4f, \"phases\": {\"forward\": %.4f, \"backward\": %.4f, "
	           "\"update\": %.4f}",
	           (double)samples / step, flops / step / 1e12, step, t->steps[0],
	           t->steps[steps - 1], steps, samples, describe_parameters(p), mem_peak_resident(),
	           t->first,
	           f->phase[PHASE_FORWARD] / f->nodes, f->phase[PHASE_BACKWARD] / f->nodes,
	           f->phase[PHASE_UPDATE] / f->nodes);
}

static int64_t batch_of_all(const struct session *s)
{
	int64_t full = s->config->train.batch_size * s->nteams;
	return s->train && loader_samples(s->train) < full ? loader_samples(s->train) : full;
}

/* t: the times of this rank; becomes, for each step, that of the slowest rank. line: the spread of
 * the ranks, for the end of the line. */
static void combine(struct comm *c, double exposed, double *t, int64_t steps, struct buf *line)
{
	double *own = mem_alloc(sizeof *own * (size_t)steps);
	struct spread all;
	memcpy(own, t, sizeof *own * (size_t)steps);
	double step = median(own, steps);
	spread_gather(&all, c, step, exposed * step);
	comm_max(c, t, steps, "the times of steps");
	buf_printf(line, ", \"ranks\": {\"size\": %d, \"hosts\": %d", c->size, c->hosts);
	spread_json(&all, line);
	buf_putc(line, '}');
	mem_free(own);
}

/* For a device with memory of its own: the most of it that the run takes, what libraries and other
 * processes take, also since the run was planned, and the host's part of a step. */
static void print_device(const struct session *s, struct times *t, int64_t steps, struct buf *out)
{
	struct device_memory_info memory = { 0 };
	const struct device *d = s->dev;
	int64_t later, aside;
	if (!d->driver)
		return;
	if (d->driver->memory_info(d, &memory) < 0)
		err_clear();                   /* then 0 is printed; the step ran */
	buf_printf(out, ", \"device_memory\": %zu, \"device_used\": %" PRId64
	           ", \"host_median\": %.9f, \"step_queued\": %.9f", d->memory->used_most,
	           memory.total - memory.free, median(t->starts, steps), t->queued);
	if (account_later(s, &later, &aside))
		buf_printf(out, ", \"device_later\": %" PRId64 ", \"device_aside\": %" PRId64, later,
		           aside);
}

/* Whether it is so on all ranks: a replay that all-reduces waits for that of the others. */
static bool on_all(struct session *s, bool mine)
{
	double without = mine ? 0 : 1;
	comm_max(s->comm, &without, 1, "whether GPUs have a profiler");
	return without == 0;
}

/* On a GPU with a profiler the kernels of replayed steps. */
static int watch(struct session *s, struct plan *p, int runs, struct profile *f)
{
	char why[sizeof f->why_not] = "another rank has no profiler";
	const int mark = err_count();
	const bool mine = exec_watch_begin(p->exec) == 0;
	if (!mine && err_count() > mark)
		snprintf(why, sizeof why, "%s", err_get(mark)->text);
	err_truncate(mark);
	const bool all = on_all(s, mine);
	TRY(profile_replays(p, all ? runs : 0, f));
	if (all && on_all(s, f->replay.nkernel > 0))
		return 0;
	if (mine && all)
		snprintf(why, sizeof why, "the profiler has seen no kernel of a launched graph");
	profile_release(f);
	TRY(profile_run(p, runs, f));
	snprintf(f->why_not, sizeof f->why_not, "%s", why);
	return 0;
}

static int take_profile(struct session *s, struct plan *p, bool asked, int runs, struct profile *f)
{
	return asked && s->dev->driver ? watch(s, p, runs, f) : profile_run(p, runs, f);
}

int bench(struct session *s, int64_t steps, bool profile, struct buf *out, struct buf *tables)
{
	struct plan *p;
	struct profile f = { 0 };
	int runs = profile && steps > 1 ? (int)(steps < PROFILE_RUNS ? steps : PROFILE_RUNS) : 1;
	struct buf ranks = BUF_INIT;
	/* the learning rate is 0, so the weights stay what they are */
	TRY(session_feed_first(s, &(struct plan_step){ .micros = 1 }, &p));
	struct times t = { .steps = mem_alloc(sizeof(double) * (size_t)steps),
		.starts = mem_alloc(sizeof(double) * (size_t)steps) };
	double before = session_waited(s), start = io_seconds();
	int rc = time_steps(p, session_overlaps(s), steps, &t);
	double exposed = (session_waited(s) - before) / (io_seconds() - start);
	if (rc == 0 && !comm_many(s->comm))
		rc = time_queue(p, s->dev, steps, &t);
	if (rc == 0)
		rc = take_profile(s, p, profile, runs, &f);
	if (rc == 0) {
		if (comm_many(s->comm))
			combine(s->comm, exposed, t.steps, steps, &ranks);
		print_line(p, batch_of_all(s), &t, steps, &f, out);
		print_device(s, &t, steps, out);
		buf_puts(out, ranks.data);
		if (profile) {
			const struct plan_env env = plan_env_of(s->config, s->engines);
			const struct node_rates rates = node_rates_ceilings(s->dev, &env);
			buf_puts(out, ", \"profile\": ");
			profile_json(p, &rates, &f, out);
			profile_text(p, &rates, &f, tables);
		}
		buf_puts(out, "}\n");
	}
	profile_release(&f);
	buf_release(&ranks);
	mem_free(t.steps);
	mem_free(t.starts);
	return rc;
}
