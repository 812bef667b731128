/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each size is run in two passes, of which the second one counts, as the original does. */
#include "bench/metg.h"

#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/option.h"
#include "bench/metg_find.h"
#include "bench/metg_run.h"
#include "bench/tb_kernel.h"
#include "comm/rank_threads.h"

#define TIMEOUT 60             /* seconds that a rank waits for another one */
#define MOST_SIZES 64

struct options {
	int64_t ranks, largest, repetitions;
	double threshold, peak;
	bool overhead, steal, help;
};

#define AT(m) offsetof(struct options, m)
static const struct option_row rows[] = {
	{ "ranks", 0, OPTION_INT, AT(ranks), "N", .min = 1, .max = 1024,
	  .doc = "without mpiexec: this many ranks, as threads of one process" },
	{ "steal", 0, OPTION_FLAG, AT(steal),
	  .doc = "the ranks are threads that take each other's tasks" },
	{ "largest", 0, OPTION_INT, AT(largest), "N", .min = 1, .max = INT64_C(1) << 40,
	  .doc = "begin with this many iterations; default: 16384" },
	{ "repetitions", 0, OPTION_INT, AT(repetitions), "N", .min = 1, .max = 1000,
	  .doc = "runs of each size; the largest sizes are run less often; default: 5" },
	{ "threshold", 0, OPTION_FLOAT, AT(threshold), "F", .doc = "efficiency of METG; default: 0.5" },
	{ "peak", 0, OPTION_FLOAT, AT(peak), "RATE",
	  .doc = "flop/s, or bytes/s, of all ranks that are an efficiency of 1; default: the largest "
	  "size's" },
	{ "overhead", 0, OPTION_FLAG, AT(overhead),
	  .doc = "with -iter: a further pass that shows where the time goes" },
	{ 0 }
};
#undef AT

void metg_help(FILE *out)
{
	fputs("usage: [mpiexec -n N] dlx-bench metg [OPTIONS] [FLAGS]\n\nWith -iter, one run; else "
	      "METG, from ever fewer iterations.\n\nOptions of metg:\n", out);
	option_help(out, rows);
	fputs("\nFlags of metg, which are Task Bench's:\n", out);
	tb_app_help(out);
}

/* --- one rank --- */

struct rank {
	struct comm *c;
	const struct options *o;
	struct tb_app app;           /* its own, because iterations change */
	struct metg_run *run;
};

static bool prints(const struct rank *r)
{
	return comm_first(r->c);
}

static void set_iterations(struct rank *r, int64_t n)
{
	for (int k = 0; k < r->app.ngraph; k++)
		r->app.graph[k].iterations = n;
}

static int measure(struct rank *r, const struct tb_totals *n, double *seconds)
{
	if (prints(r))
		tb_app_display(&r->app, stdout);
	TRY(metg_run_twice(r->run, seconds));
	if (prints(r))
		tb_app_report(&r->app, n, *seconds, stdout);
	return 0;
}

static int single(struct rank *r)
{
	const struct tb_totals n = tb_app_totals(&r->app);
	double seconds;
	TRY(measure(r, &n, &seconds));
	metg_run_describe(r->run, n.tasks);
	return r->o->overhead ? metg_run_overhead(r->run, n.tasks) : 0;
}

/* A size: the mean over its repetitions. */
static int point(struct rank *r, int size, struct metg_point *p, double *rate)
{
	const struct tb_totals n = tb_app_totals(&r->app);
	const int most = (int)r->o->repetitions;
	double sum = 0, seconds;
	p->iterations = r->app.graph[0].iterations;
	p->repetitions = size + 1 < most ? size + 1 : most;
	for (int i = 0; i < p->repetitions; i++) {
		TRY(measure(r, &n, &seconds));
		sum += seconds;
	}
	const double mean = sum / p->repetitions;
	p->granularity = mean * metg_run_cores(r->run) / (double)n.tasks;
	*rate = (double)(r->o->peak <= 0 ? p->iterations : n.flops ? n.flops : n.bytes) / mean;
	return 0;
}

static void print_points(const struct metg_point *p, int n)
{
	printf("\n%12s %6s %16s %11s\n", "iterations", "runs", "granularity, us", "efficiency");
	for (int i = 0; i < n; i++)
		printf("%12" PRId64 " %6d %16.4f %11.3f\n", p[i].iterations, p[i].repetitions,
		       p[i].granularity * 1e6, p[i].efficiency);
}

static bool two_below(const struct metg_point *p, int n, double threshold)
{
	return n > 1 && p[n - 1].efficiency < threshold && p[n - 2].efficiency < threshold;
}

/* Halves the iterations until two sizes are below the threshold. */
static int sweep(struct rank *r)
{
	struct metg_point p[MOST_SIZES];
	double rate, reference = r->o->peak, metg;
	int n = 0;
	for (int64_t i = r->o->largest; i > 0 && n < MOST_SIZES; i /= 2) {
		set_iterations(r, i);
		TRY(point(r, n, &p[n], &rate));
		reference = reference > 0 ? reference : rate;
		p[n].efficiency = rate / reference;
		if (two_below(p, ++n, r->o->threshold))
			break;
	}
	if (prints(r)) {
		metg_run_describe(r->run, tb_app_totals(&r->app).tasks);
		print_points(p, n);
	}
	TRY(metg_find(p, n, r->o->threshold, &metg));
	if (prints(r))
		printf("METG(%g %%) %.4f us\n", 100 * r->o->threshold, metg * 1e6);
	return 0;
}

/* A rank that fails alone ends the others, which wait for its messages. Of ranks that are threads
 * the first one to fail ends the process, without exit(), whose handlers free what the others
 * use. */
_Noreturn static void end_all(struct comm *c, int rc)
{
	static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&first);
	if (!c->library || !comm_told(c) || comm_prints(c))
		err_print(stderr, "dlx-bench");
	if (c->library)
		comm_abort(c, err_exit_status(rc));
	fflush(NULL);
	_exit(err_exit_status(rc));
}

static int work(struct comm *c, void *arg)
{
	struct rank r = *(const struct rank *)arg;
	r.c = c;
	int rc = metg_run_new(&r.run, c, &r.app, r.o->steal ? (int)r.o->ranks : 0);
	if (rc == 0)
		rc = r.app.iterates ? single(&r) : sweep(&r);
	if (rc < 0 && rc != E_DATA && c->size > 1)
		end_all(c, rc);
	metg_run_free(r.run);
	return rc;
}

/* --- the command --- */

static int check(const struct rank *r, int argc, char **argv)
{
	const struct options *o = r->o;
	struct tb_totals n;
	if (argc > 1)
		return ERR(E_USAGE, NULL, "metg takes no argument '%s'; see dlx-bench --help", argv[1]);
	if (!(o->threshold > 0 && o->threshold < 1))
		return ERR(E_USAGE, NULL, "--threshold: %g is not between 0 and 1", o->threshold);
	if (o->overhead && !r->app.iterates)
		return ERR(E_USAGE, NULL, "--overhead shows one size; give -iter N");
	if (o->overhead && o->steal)
		return ERR(E_USAGE, NULL, "--overhead shows the time of ranks, which --steal has not");
	n = tb_app_totals(&r->app);
	if (o->peak > 0 && n.flops + n.bytes == 0)
		return ERR(E_USAGE, NULL, "--peak: kernel '%s' counts neither flops nor bytes",
		           r->app.graph[0].kernel->name);
	return 0;
}

static int read_command(struct rank *r, struct options *o, int argc, char **argv)
{
	TRY(tb_app_read(&r->app, &argc, argv));
	o->help = r->app.help;
	TRY(option_read(rows, o, NULL, &argc, argv));
	return o->help ? 0 : check(r, argc, argv);
}

static int start(struct rank *r)
{
	const int64_t ranks = r->o->ranks;
	if (r->c->size > 1 && ranks > 1 && ranks != r->c->size)
		return ERR(E_USAGE, NULL, "--ranks %" PRId64 ": mpiexec has started %d", ranks, r->c->size);
	if (r->c->size > 1 && r->o->steal)
		return ERR(E_USAGE, NULL, "--steal: tasks are taken within one process, but mpiexec has "
		           "started %d", r->c->size);
	if (r->c->size > 1 || ranks == 1 || r->o->steal)
		return work(r->c, r);
	return rank_threads_run((int)ranks, TIMEOUT, work, r);
}

int metg_main(int argc, char **argv)
{
	struct options o = { .ranks = 1, .largest = 16384, .repetitions = 5, .threshold = 0.5 };
	struct rank *r = mem_calloc(1, sizeof *r);
	r->o = &o;
	int rc = read_command(r, &o, argc, argv);
	if (rc == 0 && o.help)
		metg_help(stdout);
	const int joined = o.help ? 0 : comm_open(&r->c, TIMEOUT);
	if (r->c)
		log_init("dlx-bench", r->c->rank, r->c->size);
	rc = rc < 0 ? rc : joined;
	if (rc == 0 && !o.help)
		rc = start(r);
	if (rc == 0 && fflush(stdout) != 0)
		rc = ERR(E_IO, NULL, "cannot write to standard output");
	if (rc < 0 && comm_first(r->c))
		err_print(stderr, "dlx-bench");
	err_clear();
	comm_close(r->c);
	mem_free(r);
	return err_exit_status(rc);
}
