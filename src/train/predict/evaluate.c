/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loss of the set is the mean of the batches' losses, weighted by the sum of weights of each
 * batch. The counts of metrics are added over batches, ranks and sizes of samples. A short last
 * batch has its own plan.
 *
 * While a GPU runs a batch, the host waits for the next one, which is then copied directly from the
 * loader's memory. Predicted times for a batch of fcn (1 GiB) on an H100: in sequence, a copy to
 * pinned memory, the bus and the kernels would take 70, 35 and 25 ms, in addition to the loader's
 * time; overlapped, 35 ms remain if the loader keeps up. */
#include "train/predict/evaluate.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/signals.h"
#include "comm/comm.h"
#include "train/run/batches.h"
#include "train/run/equations.h"
#include "train/run/micro_rows.h"
#include "train/run/ranks.h"

/* The metrics object that sums over the set: the full-size plan's. */
static struct metrics *pooled(const struct session *s)
{
	return session_plan(s, PLAN_EVALUATE)->metrics;
}

/* The samples of one size: those of the set, or of its k-th further size. */
struct part {
	struct loader *loader;
	int size;
};

static struct part part_of(const struct session *s, int k)
{
	return (struct part){ k ? s->size[k - 1].loader : s->validation, k };
}

static struct plan *plan_of(const struct session *s, const struct part *part, const struct batch *b)
{
	return session_plan_for(s, PLAN_EVALUATE, 0, part->size, b->n);
}

/* Those of a part, from the first. A stopped evaluation may have left one on its way. */
static int begin_batches(const struct session *s, const struct part *part, struct batches *out)
{
	*out = (struct batches){ .loader = part->loader, .dev = s->dev };
	TRY(batches_forget(s, PLAN_EVALUATE));
	return loader_seek(part->loader, 0, 0);
}

static int send_ahead(const struct session *s, const struct part *part, struct batches *from)
{
	TRY(batches_take_ahead(from));
	const struct batch *b = from->batch;
	return b && !b->absent ? plan_prefetch(plan_of(s, part, b), b) : 0;
}

/* more: there are batches after b, one of which may travel meanwhile. sums: of losses, and of what
 * they were means over. */
static int run_batch(struct session *s, const struct part *part, const struct batch *b,
                     struct batches *from, bool more, double **values, double sums[2])
{
	struct plan *p = plan_of(s, part, b);
	double loss, w;
	TRY(plan_feed(p, s->config, b, NULL));
	TRY(exec_run(p->exec, ~0u));
	if (more)
		TRY(send_ahead(s, part, from));
	TRY(exec_read(p->exec, plan_out(p, "loss"), DTYPE_F64, &loss));
	TRY(exec_read(p->exec, plan_out(p, "weight"), DTYPE_F64, &w));
	if (s->sample && loss_is_sum(&s->config->loss))
		comm_sum(s->sample, &loss, 1, "the loss of a batch");
	sums[0] += w > 0 ? loss * w : 0;
	sums[1] += w;
	for (int i = 0; i < p->nmetric; i++) {
		TRY(exec_read(p->exec, p->metric[i], DTYPE_F64, values[i]));
		if (p->metric_once[i] && s->cut.subdomain > 0)
			memset(values[i], 0, sizeof(double) *
			       (size_t)shape_count(&graph_t(p->g, p->metric[i])->shape));
	}
	metrics_add(pooled(s), (const double *const *)values);
	return 0;
}

static double **make_values(const struct plan *p, struct arena *a)
{
	double **v = ARENA_ARRAY(a, double *, p->nmetric + 1);
	for (int i = 0; i < p->nmetric; i++)
		v[i] = ARENA_ARRAY(a, double, shape_count(&graph_t(p->g, p->metric[i])->shape));
	return v;
}

/* Whether a rank has received a request to stop. */
static bool stopped(struct comm *c)
{
	double signals = signals_pending() != 0;
	if (comm_many(c))
		comm_max(c, &signals, 1, "whether validation goes on");
	return signals > 0;
}

static void sum_over_ranks(struct comm *c, struct metrics *m, double sums[2])
{
	int64_t n;
	double *counts = metrics_sums(m, &n);
	if (!comm_many(c))
		return;
	comm_sum(c, sums, 2, "the validation loss");
	comm_sum(c, counts, n, "the metrics");
}

/* With parallel.reproducible each micro-batch has a row of its own: the two sums and all counts. */
static int run_micros(struct session *s, const struct part *part, double **values,
                      struct batches *from, struct micro_rows *rows, double *row)
{
	struct micros m;
	const struct batch *b;
	int64_t n;
	TRY(micros_begin(&m, s->config, from, 1));
	for (int64_t i = 0; i < m.n && !m.whole->absent; i++) {
		row[0] = row[1] = 0;
		metrics_reset(pooled(s));
		TRY(micros_next(&m, &b));
		TRY(run_batch(s, part, b, from, false, values, row));
		const double *counts = metrics_sums(pooled(s), &n);
		memcpy(row + 2, counts, (size_t)n * sizeof *row);
		micro_rows_add(rows, i, row);
	}
	return 0;
}

/* row: the sums of a part, of n numbers. */
static int run_part_micros(struct session *s, const struct part *part, double **values, double *row,
                           int64_t n)
{
	struct micro_rows rows;
	struct batches from;
	int rc = begin_batches(s, part, &from);
	micro_rows_init(&rows, s->config->micros.each, n);
	for (int64_t i = 0; i < loader_batches(part->loader) && rc == 0; i++)
		rc = stopped(s->comm) ? E_STOPPED : run_micros(s, part, values, &from, &rows, row);
	if (rc == 0)
		micro_rows_sum(&rows, s->config, s->dev, s->comm, row);
	micro_rows_release(&rows);
	return rc;
}

static int run_all_micros(struct session *s, double **values, double sums[2])
{
	int64_t n;
	double *counts = metrics_sums(pooled(s), &n), *all = mem_calloc((size_t)n + 2, sizeof *all),
	*row = mem_calloc((size_t)n + 2, sizeof *row);
	int rc = 0;
	for (int k = 0; k <= s->nsize && rc == 0; k++) {
		const struct part part = part_of(s, k);
		rc = run_part_micros(s, &part, values, row, n + 2);
		for (int64_t i = 0; i < n + 2 && rc == 0; i++)
			all[i] += row[i];
	}
	if (rc == 0) {
		memcpy(sums, all, 2 * sizeof *all);
		memcpy(counts, all + 2, (size_t)n * sizeof *all);
	}
	mem_free(row);
	mem_free(all);
	return rc;
}

static int run_part(struct session *s, const struct part *part, double **values, double sums[2])
{
	const int64_t n = loader_batches(part->loader);
	const struct batch *b;
	struct batches from;
	TRY(begin_batches(s, part, &from));
	for (int64_t i = 0; i < n; i++) {
		if (stopped(s->comm))
			return E_STOPPED;
		TRY(batches_next(&from, &b));
		if (!b->absent)
			TRY(run_batch(s, part, b, &from, i + 1 < n, values, sums));
	}
	return 0;
}

static int run_all(struct session *s, double **values, double sums[2])
{
	for (int k = 0; k <= s->nsize; k++) {
		const struct part part = part_of(s, k);
		TRY(run_part(s, &part, values, sums));
	}
	sum_over_ranks(s->comm, pooled(s), sums);
	return 0;
}

int evaluate(struct session *s, struct evaluation *out)
{
	if (s->config->physics)
		return equations_evaluate(s, out);
	struct arena *a = arena_new();
	double **values = make_values(session_plan(s, PLAN_EVALUATE), a);
	double sums[2] = { 0, 0 }, t0 = io_seconds();
	metrics_reset(pooled(s));
	int rc = s->config->micros.all ? run_all_micros(s, values, sums) : run_all(s, values, sums);
	arena_free(a);
	TRY(rc);
	if (!(sums[1] > 0))   /* the sums of all ranks */
		return ranks_agree(s->comm, ERR(E_DATA, NULL, "nothing counts in the data to evaluate on: "
		                                "every label is ignored, or its class has the weight 0"),
		                   "the evaluation");
	out->loss = sums[0] / sums[1];
	out->metric = metrics_values(pooled(s), &out->nmetric);
	out->seconds = io_seconds() - t0;
	return 0;
}

double evaluation_find(const struct evaluation *e, const char *name, bool *larger)
{
	*larger = false;
	if (strcmp(name, "loss") == 0)
		return e->loss;
	for (int i = 0; i < e->nmetric; i++)
		if (strcmp(e->metric[i].name, name) == 0) {
			*larger = e->metric[i].larger_is_better;
			return e->metric[i].v[0];
		}
	return NAN;
}
