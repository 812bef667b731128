/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The first batch, again and again: what is measured is the step, not the reader. */
#include "train/bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "graph/pass.h"
#include "train/describe.h"
#include "train/synthetic.h"

#define WARM_UP 3

/* The learning rate is 0, so that the weights stay what they are. */
static int load(struct session *s, struct plan **used)
{
	return session_feed_first(s, &(struct plan_step){ .micros = 1 }, used);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

struct shares {
	double phase[PHASE_COUNT], all;
};

static int phase_shares(struct plan *p, struct shares *out)
{
	memset(out, 0, sizeof *out);
	exec_profile(p->exec, true);
	TRY(exec_run(p->exec, ~0u));
	for (int i = 0; i < p->g->nnode; i++) {
		double t = exec_profile_seconds(p->exec)[i];
		out->phase[p->g->node[i]->phase] += t;
		out->all += t;
	}
	return 0;
}

struct op_time {
	const char *name;
	double seconds, flops;
	int nodes;
};

static int by_seconds(const void *a, const void *b)
{
	const struct op_time *x = a, *y = b;
	return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static void print_ops(const struct plan *p, double all)
{
	struct op_time t[128] = { 0 };
	int n = 0;
	for (int i = 0; i < p->g->nnode; i++) {
		int k = 0;
		const char *name = p->g->node[i]->op->name;
		while (k < n && strcmp(t[k].name, name) != 0)
			k++;
		if (k == 128)
			continue;
		n = k == n ? n + 1 : n;
		t[k].name = name;
		t[k].nodes++;
		t[k].seconds += exec_profile_seconds(p->exec)[i];
		t[k].flops += op_cost(p->g, p->g->node[i]).flops;
	}
	qsort(t, (size_t)n, sizeof *t, by_seconds);
	fprintf(stderr, "%-28s %6s %10s %6s %10s\n", "op", "nodes", "ms", "%", "GFLOP/s");
	for (int k = 0; k < n; k++)
		fprintf(stderr, "%-28s %6d %10.3f %6.1f %10.1f\n", t[k].name, t[k].nodes, 1e3 * t[k].seconds,
		        100 * t[k].seconds / all, t[k].flops / t[k].seconds / 1e9);
}

/* *first: from the start of the process to the end of the first step. */
static int time_steps(struct plan *p, int64_t steps, double *seconds, double *first)
{
	for (int64_t i = -WARM_UP; i < steps; i++) {
		double t0 = io_seconds();
		TRY(exec_run(p->exec, ~0u));
		if (i >= 0)
			seconds[i] = io_seconds() - t0;
		if (i == -WARM_UP)
			*first = io_process_age();
	}
	return 0;
}

int bench(struct session *s, int64_t steps, bool profile, struct buf *out)
{
	struct plan *p;
	struct shares share;
	double first = 0;
	TRY(load(s, &p));
	double *t = mem_alloc(sizeof *t * (size_t)steps);
	int rc = time_steps(p, steps, t, &first);
	if (rc == 0)
		rc = phase_shares(p, &share);
	if (rc == 0) {
		qsort(t, (size_t)steps, sizeof *t, by_value);
		double median = t[steps / 2], flops = 3 * describe_forward_flops(p) * (double)p->batch;
		buf_printf(out, "{\"samples_per_second\": %.4f, \"tflops\": %.4f, \"step_median\": %.6f, \"step_min\": %.6f, "
		           "\"step_max\": %.6f, \"steps\": %" PRId64 ", \"batch\": %" PRId64 ", \"peak_memory\": %" PRIu64
		           ", \"first_step\": %.2f, \"phases\": {\"forward\": %.4f, \"backward\": %.4f, \"update\": %.4f}}\n",
		           (double)p->batch / median, flops / median / 1e12, median, t[0], t[steps - 1], steps, p->batch,
		           mem_peak_resident(), first, share.phase[PHASE_FORWARD] / share.all,
		           share.phase[PHASE_BACKWARD] / share.all, share.phase[PHASE_UPDATE] / share.all);
		if (profile)
			print_ops(p, share.all);
	}
	mem_free(t);
	return rc;
}
