/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/metg_run.h"

#include <sched.h>
#include <stdio.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "bench/tb_plan.h"
#include "bench/tb_steal.h"

struct metg_run {
	struct comm *c;
	struct tb_plan *plan;
	struct tb_steal *steal;      /* in place of the plan; NULL: none */
	int thieves;
	double build;                /* seconds */
};

/* Whether this rank has a processor of its own now. If there are fewer than ranks, or if a launcher
 * has bound the processes already, they stay as they are. */
static bool bind_to_processor(const struct comm *c)
{
	cpu_set_t all, own;
	if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < c->local_size)
		return false;
	for (int cpu = 0, n = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || n++ != c->local_rank)
			continue;
		CPU_ZERO(&own);
		CPU_SET(cpu, &own);
		return sched_setaffinity(0, sizeof own, &own) == 0;
	}
	return false;
}

int metg_run_new(struct metg_run **out, struct comm *c, const struct tb_app *app, int thieves)
{
	struct metg_run *r = *out = mem_calloc(1, sizeof *r);
	r->c = c;
	r->thieves = thieves;
	const double start = io_seconds();
	if (thieves) {
		TRY(tb_steal_new(&r->steal, app, thieves));
	} else {
		TRY(tb_plan_new(&r->plan, c, app, bind_to_processor(c)));
	}
	r->build = io_seconds() - start;
	return 0;
}

void metg_run_free(struct metg_run *r)
{
	if (!r)
		return;
	tb_plan_free(r->plan);
	tb_steal_free(r->steal);
	mem_free(r);
}

double metg_run_cores(const struct metg_run *r)
{
	return r->steal ? r->thieves : r->c->size;
}

/* From the first rank's beginning to the last rank's end; *idle: how much of it this rank was not
 * in its pass. Clocks of different hosts differ, so that there the longest rank counts. */
static double elapsed(struct comm *c, double start, double end, double *idle)
{
	double v[] = { -start, end, end - start };
	comm_max(c, v, 3, "the time of a pass");
	const double all = c->hosts > 1 ? v[2] : v[1] + v[0];
	*idle = all - (end - start);
	return all;
}

static int pass(struct metg_run *r, double *seconds)
{
	double idle;
	comm_barrier(r->c, "a pass");
	const double start = io_seconds();
	TRY(r->steal ? tb_steal_run(r->steal) : tb_plan_run(r->plan, NULL));
	*seconds = elapsed(r->c, start, io_seconds(), &idle);
	return 0;
}

int metg_run_twice(struct metg_run *r, double *seconds)
{
	TRY(pass(r, seconds));
	return pass(r, seconds);
}

void metg_run_describe(const struct metg_run *r, int64_t tasks)
{
	const int nodes = r->plan ? tb_plan_nodes(r->plan) : 0;
	if (r->steal)
		printf("Build Time %e seconds (%d threads)\n", r->build, r->thieves);
	else if (comm_first(r->c))
		printf("Build Time %e seconds (%d nodes on the first of %d ranks, %.2f us each)\n",
		       r->build, nodes, r->c->size, nodes ? r->build * 1e6 / nodes : 0);
}

/* --- overhead --- */

/* What reading the clock takes, in nanoseconds. */
static double clock_cost(void)
{
	enum { READS = 1000 };
	double best = 1e9;
	for (int turn = 0; turn < 5; turn++) {
		const int64_t start = io_nanoseconds();
		for (int i = 1; i < READS; i++)
			(void)io_nanoseconds();
		const double one = (double)(io_nanoseconds() - start) / READS;
		best = one < best ? one : best;
	}
	return best;
}

static void print_row(const char *name, double ns, int64_t tasks, double all)
{
	printf("  %-10s %12.1f %9.1f %%\n", name, ns / (double)tasks, 100 * ns / all);
}

/* v: nanoseconds of all ranks: the parts, then the clock. wall: of the pass. */
static void print_overhead(const double *v, int64_t tasks, double wall, int ranks)
{
	static const char *const name[] = { "kernel", "payload", "wait", "copy", "dispatch", "clock" };
	const double all = wall * ranks * 1e9;
	double sum = 0;
	printf("Overhead        ns a task      share of wall time times %d cores\n", ranks);
	for (int i = 0; i <= PARTS; i++) {
		print_row(name[i], v[i], tasks, all);
		sum += v[i];
	}
	print_row("sum", sum, tasks, all);
	print_row("wall", all, tasks, all);
}

int metg_run_overhead(struct metg_run *r, int64_t tasks)
{
	struct task_record record;
	double v[PARTS + 1] = { 0 }, idle;
	const double cost = clock_cost();
	comm_barrier(r->c, "a pass");
	task_record_begin(&record);
	const int64_t start = record.last;
	TRY(tb_plan_run(r->plan, &record));
	task_record_end(&record, PART_DISPATCH);
	const double wall = elapsed(r->c, (double)start * 1e-9, (double)record.last * 1e-9, &idle);
	record.time[PART_WAIT] += (int64_t)(idle * 1e9);
	for (int i = 0; i < PARTS; i++) {
		const double clocks = cost * (double)record.stamps[i];
		v[i] = (double)record.time[i] - clocks;
		v[PARTS] += clocks;
	}
	comm_sum(r->c, v, PARTS + 1, "the overhead of a pass");
	if (comm_first(r->c))
		print_overhead(v, tasks, wall, r->c->size);
	return 0;
}
