/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each task has a counter of the tasks for which it waits: its inputs, the task before it in its
 * column, and those that read what its output overwrites (payloads are kept for ROWS steps). A task
 * that has run counts its followers down, and adds those that have nothing to wait for to its
 * worker's lane. So a column has at most one task that may run.
 *
 * Counters are reused. The counter of task (t, i) is set again, for task (t + counters, i), when
 * (t, i) begins; no task counts it down earlier if counters >= ROWS + period - 1: Let task (u, j),
 * u = t + counters - 1, be an input of (t + counters, i). Within a period before u + 1 - ROWS there
 * is a step v at which i reads j too. (v - 1 + ROWS, j) overwrites what (v, i) reads, so (v, i) has
 * run before (u, j); and v >= u + 2 - ROWS - period >= t. For followers that wait because their
 * output overwrites what (t + counters - ROWS, i) has written, that task itself has run. */
#include "bench/tb_steal.h"

#include <sched.h>
#include <string.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/pool.h"
#include "bench/tb_kernel.h"
#include "bench/tb_lane.h"
#include "bench/tb_task.h"

#define ROWS 4
#define SPIN 200               /* looks for a task before the processor is given up */

struct grid {
	const struct tb_graph *g;
	struct tb_edges *edges;
	int64_t counters, stride;    /* stride: bytes from payload to payload */
	_Atomic int32_t *waits;      /* by step modulo counters, and column */
	char *payload;               /* by step modulo ROWS, and column */
	char *scratch;
	size_t payload_bytes, scratch_bytes;
};

struct worker {
	struct tb_lane lane;
	_Alignas(64) _Atomic int64_t ran;        /* tasks of this pass */
	double sink;
	struct tb_steal *s;
	int number;
};

struct tb_steal {
	struct grid grid[TB_GRAPHS];
	int ngrid, nworker;
	int64_t tasks;               /* of a pass */
	struct worker *worker;
	struct pool *pool;
	cpu_set_t processors;
	atomic_flag failing;
	atomic_bool failed;
	struct err_record record;    /* of the first task that failed */
};

/* --- what waits for what --- */

static bool exists(const struct tb_graph *g, int64_t t, int64_t i)
{
	return t >= 0 && t < g->steps && tb_within(tb_active(g, t), i);
}

static struct tb_list inputs(const struct grid *d, int64_t t, int64_t i)
{
	return tb_inputs(d->edges, tb_set(d->g, t), i);
}

static struct tb_list readers(const struct grid *d, int64_t t, int64_t i)
{
	return tb_readers(d->edges, tb_set(d->g, t), i);
}

/* The number of columns of the list that exist at step t, without `except`. */
static int32_t count(const struct tb_graph *g, struct tb_list l, int64_t t, int64_t except)
{
	int32_t n = 0;
	for (int64_t k = 0; k < l.n; k++)
		n += l.v[k] != except && exists(g, t, l.v[k]);
	return n;
}

static int32_t waits_for(const struct grid *d, int64_t t, int64_t i)
{
	const int64_t old = t - ROWS;
	int32_t n = exists(d->g, t - 1, i) + count(d->g, inputs(d, t, i), t - 1, i);
	if (exists(d->g, old, i))
		n += count(d->g, readers(d, old + 1, i), old + 1, -1);
	return n;
}

static _Atomic int32_t *counter(const struct grid *d, int64_t t, int64_t i)
{
	return &d->waits[t % d->counters * d->g->width + i];
}

static void *payload(const struct grid *d, int64_t t, int64_t i)
{
	return d->payload + (t % ROWS * d->g->width + i) * d->stride;
}

/* --- a task --- */

static void release(struct worker *w, int64_t graph, int64_t t, int64_t i)
{
	const struct grid *d = &w->s->grid[graph];
	if (exists(d->g, t, i) &&
	    atomic_fetch_sub_explicit(counter(d, t, i), 1, memory_order_acq_rel) == 1)
		tb_lane_add(&w->lane, (struct tb_item){ graph, t, i });
}

static void release_followers(struct worker *w, const struct tb_item *x)
{
	const struct grid *d = &w->s->grid[x->graph];
	const struct tb_list in = inputs(d, x->step, x->column),
	                     out = readers(d, x->step + 1, x->column);
	for (int64_t k = 0; k < in.n; k++)
		if (exists(d->g, x->step - 1, in.v[k]))
			release(w, x->graph, x->step - 1 + ROWS, in.v[k]);
	for (int64_t k = 0; k < out.n; k++)
		if (out.v[k] != x->column)
			release(w, x->graph, x->step + 1, out.v[k]);
	release(w, x->graph, x->step + 1, x->column);
}

static int validate(const struct grid *d, int64_t t, int64_t i)
{
	const struct tb_list l = inputs(d, t, i);
	for (int64_t k = 0; k < l.n; k++)
		if (exists(d->g, t - 1, l.v[k]) &&
		    !tb_holds(payload(d, t - 1, l.v[k]), d->g->output_bytes, t - 1, l.v[k]))
			return tb_refuse(d->g, t, i, l.v[k], payload(d, t - 1, l.v[k]));
	return 0;
}

static int run_task(struct worker *w, const struct tb_item *x)
{
	const struct grid *d = &w->s->grid[x->graph];
	const int64_t t = x->step, i = x->column,
	              ran = atomic_load_explicit(&w->ran, memory_order_relaxed);
	if (exists(d->g, t + d->counters, i))
		atomic_store_explicit(counter(d, t, i), waits_for(d, t + d->counters, i),
		                      memory_order_relaxed);
	TRY(validate(d, t, i));
	tb_fill(payload(d, t, i), d->g->output_bytes, t, i);
	if (debug.fault[0].kind && w->number == 0 && fault_hits("payload", (uint64_t)ran + 1))
		*(int64_t *)payload(d, t, i) ^= 4;
	w->sink = d->g->kernel->run(d->g, t, i, d->scratch + i * d->g->scratch_bytes);
	release_followers(w, x);
	atomic_store_explicit(&w->ran, ran + 1, memory_order_release);
	return 0;
}

/* --- workers --- */

static bool find_task(struct worker *w, struct tb_item *x)
{
	const struct tb_steal *s = w->s;
	bool found = tb_lane_take(&w->lane, true, x);
	for (int k = 1; k < s->nworker && !found; k++)
		found = tb_lane_take(&s->worker[(w->number + k) % s->nworker].lane, false, x);
	return found;
}

static bool is_over(struct tb_steal *s)
{
	int64_t n = 0;
	for (int k = 0; k < s->nworker; k++)
		n += atomic_load_explicit(&s->worker[k].ran, memory_order_acquire);
	return n == s->tasks || atomic_load(&s->failed);
}

static void bind_worker(const struct worker *w)
{
	const cpu_set_t *all = &w->s->processors;
	cpu_set_t own;
	for (int cpu = 0, n = 0; cpu < CPU_SETSIZE && CPU_COUNT(all) >= w->s->nworker; cpu++) {
		if (!CPU_ISSET(cpu, all) || n++ != w->number)
			continue;
		CPU_ZERO(&own);
		CPU_SET(cpu, &own);
		(void)sched_setaffinity(0, sizeof own, &own);
	}
}

static void fail(struct tb_steal *s)
{
	if (!atomic_flag_test_and_set(&s->failing))
		err_take(&s->record);
	atomic_store(&s->failed, true);
}

static void work(void *arg)
{
	struct worker *w = arg;
	struct tb_item x;
	bind_worker(w);
	for (int idle = 0;;) {
		if (find_task(w, &x)) {
			idle = 0;
			if (run_task(w, &x) < 0)
				fail(w->s);
		} else if (++idle % SPIN == 0) {
			sched_yield();
		}
		if (atomic_load_explicit(&w->s->failed, memory_order_relaxed) || (idle && is_over(w->s)))
			return;
	}
}

/* Sets the counters of a column's first tasks. The steps at which it exists are an interval. */
static void begin_column(const struct grid *d, int64_t i)
{
	int64_t first = 0;
	while (first < d->g->steps && !exists(d->g, first, i))
		first++;
	for (int64_t t = first; t < first + d->counters && exists(d->g, t, i); t++)
		atomic_store(counter(d, t, i), waits_for(d, t, i));
}

int tb_steal_run(struct tb_steal *s)
{
	for (int k = 0; k < s->nworker; k++)
		atomic_store(&s->worker[k].ran, 0);
	for (int k = 0; k < s->ngrid; k++) {
		const struct grid *d = &s->grid[k];
		for (int64_t i = 0; i < d->g->width; i++)
			begin_column(d, i);
		const struct tb_range first = tb_active(d->g, 0);
		for (int64_t i = first.first; i < first.end; i++)
			tb_lane_add(&s->worker[i * s->nworker / d->g->width].lane,
			            (struct tb_item){ k, 0, i });
	}
	pool_add_all(s->pool, work, s->worker, sizeof *s->worker, s->nworker);
	pool_wait(s->pool);
	if (!atomic_load(&s->failed))
		return 0;
	err_give(&s->record);
	return E_BUG;
}

/* --- set-up --- */

static int open_grid(struct grid *d, const struct tb_graph *g)
{
	d->g = g;
	d->edges = tb_edges_new(g);
	d->counters = ROWS + tb_sets(g);
	d->stride = (g->output_bytes + 63) / 64 * 64;
	d->waits = mem_calloc((size_t)(d->counters * g->width), sizeof *d->waits);
	d->payload_bytes = (size_t)(ROWS * g->width * d->stride);
	d->scratch_bytes = (size_t)(g->width * g->scratch_bytes) + 1;
	d->payload = mem_map(d->payload_bytes);
	d->scratch = mem_map(d->scratch_bytes);
	if (!d->payload || !d->scratch)
		return ERR(E_NOMEM, NULL, "no memory for %.1f MB of payloads and scratch memory",
		           (double)(d->payload_bytes + d->scratch_bytes) / 1e6);
	return 0;
}

static int open_workers(struct tb_steal *s)
{
	int64_t columns = 0;
	for (int k = 0; k < s->ngrid; k++)
		columns += s->grid[k].g->width;
	s->worker = mem_map((size_t)s->nworker * sizeof *s->worker);
	if (!s->worker)
		return ERR(E_NOMEM, NULL, "no memory for %d workers", s->nworker);
	for (int k = 0; k < s->nworker; k++) {
		struct worker *w = &s->worker[k];
		w->s = s;
		w->number = k;
		w->lane.room = columns;
		w->lane.item = mem_calloc((size_t)columns, sizeof *w->lane.item);
	}
	s->pool = pool_new(s->nworker, s->nworker);
	return s->pool ? 0 : E_UNAVAILABLE;
}

static int open_all(struct tb_steal *s, const struct tb_app *app)
{
	for (s->ngrid = 0; s->ngrid < app->ngraph; s->ngrid++)
		TRY(open_grid(&s->grid[s->ngrid], &app->graph[s->ngrid]));
	return open_workers(s);
}

int tb_steal_new(struct tb_steal **out, const struct tb_app *app, int workers)
{
	struct tb_steal *s = mem_calloc(1, sizeof *s);
	s->nworker = workers;
	s->tasks = tb_app_totals(app).tasks;
	if (sched_getaffinity(0, sizeof s->processors, &s->processors) != 0)
		CPU_ZERO(&s->processors);
	int rc = open_all(s, app);
	if (rc < 0) {
		tb_steal_free(s);
		s = NULL;
	}
	*out = s;
	return rc;
}

void tb_steal_free(struct tb_steal *s)
{
	if (!s)
		return;
	pool_free(s->pool);
	for (int k = 0; k < s->nworker && s->worker; k++)
		mem_free(s->worker[k].lane.item);
	mem_unmap(s->worker, (size_t)s->nworker * sizeof *s->worker);
	for (int k = 0; k < TB_GRAPHS; k++) {
		struct grid *d = &s->grid[k];
		tb_edges_free(d->edges);
		mem_free((void *)d->waits);
		mem_unmap(d->payload, d->payload_bytes);
		mem_unmap(d->scratch, d->scratch_bytes);
	}
	mem_free(s);
}
