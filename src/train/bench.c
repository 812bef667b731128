/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The first batch, again and again: what is measured is the step, not the reader. */
#include "train/bench.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "train/describe.h"
#include "train/profile.h"
#include "train/synthetic.h"

#define WARM_UP 3
#define PROFILE_RUNS 10

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

static void print_line(const struct plan *p, const double *sorted, int64_t steps, double first,
                       const struct profile *f, struct buf *out)
{
	double median = sorted[steps / 2], flops = 3 * describe_forward_flops(p) * (double)p->batch;
	buf_printf(out, "{\"samples_per_second\": %.4f, \"tflops\": %.4f, \"step_median\": %.6f, "
	           "\"step_min\": %.6f, \"step_max\": %.6f, \"steps\": %" PRId64 ", \"batch\": %" PRId64
	           ", \"peak_memory\": %" PRIu64 ", \"first_step\": %.4f, \"phases\": "
	           "{\"forward\": %.4f, \"backward\": %.4f, \"update\": %.4f}",
	           (double)p->batch / median, flops / median / 1e12, median, sorted[0], sorted[steps - 1], steps,
	           p->batch, mem_peak_resident(), first, f->phase[PHASE_FORWARD] / f->nodes,
	           f->phase[PHASE_BACKWARD] / f->nodes, f->phase[PHASE_UPDATE] / f->nodes);
}

int bench(struct session *s, int64_t steps, bool profile, struct buf *out, struct buf *tables)
{
	struct plan *p;
	struct profile f;
	int runs = profile && steps > 1 ? (int)(steps < PROFILE_RUNS ? steps : PROFILE_RUNS) : 1;
	double first = 0;
	TRY(load(s, &p));
	double *t = mem_alloc(sizeof *t * (size_t)steps);
	int rc = time_steps(p, steps, t, &first);
	if (rc == 0)
		rc = profile_run(p, runs, &f);
	if (rc == 0) {
		qsort(t, (size_t)steps, sizeof *t, by_value);
		print_line(p, t, steps, first, &f, out);
		if (profile) {
			buf_puts(out, ", \"profile\": ");
			profile_json(p, s->dev, runs, &f, out);
			profile_text(p, s->dev, runs, &f, tables);
		}
		buf_puts(out, "}\n");
	}
	mem_free(t);
	return rc;
}
