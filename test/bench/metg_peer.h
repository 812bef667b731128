/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the programs that dlx-bench metg is compared with have in common: the command line, a task,
 * the report. They have the same graphs, kernels and checks of payloads as dlx-bench. */
#ifndef DLX_TEST_METG_PEER_H
#define DLX_TEST_METG_PEER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "base/err.h"
#include "bench/tb_app.h"
#include "bench/tb_kernel.h"
#include "bench/tb_task.h"
#ifdef __cplusplus
}
#endif

struct peer {
	struct tb_app app;
	struct tb_edges *edges[TB_GRAPHS];
	int workers;                 /* --workers N; 1 by default */
};

static inline void peer_fail(int rc)
{
	err_print(stderr, "peer");
	exit(err_exit_status(rc));
}

static inline struct peer *peer_new(int argc, char **argv)
{
	struct peer *p = (struct peer *)calloc(1, sizeof *p);
	int rc = tb_app_read(&p->app, &argc, argv);
	if (rc < 0)
		peer_fail(rc);
	p->workers = argc == 3 && strcmp(argv[1], "--workers") == 0 ? atoi(argv[2]) : 1;
	for (int k = 0; k < p->app.ngraph; k++)
		p->edges[k] = tb_edges_new(&p->app.graph[k]);
	return p;
}

/* Runs task (t, i): in has the payloads of its inputs that exist, in order. */
static inline void peer_task(const struct tb_graph *g, int64_t t, int64_t i, struct tb_list from,
                             const void *const *in, void *out, void *scratch)
{
	static _Thread_local volatile double sink;
	const struct tb_range last = tb_active(g, t - 1);
	for (int64_t k = 0, n = 0; k < from.n; k++)
		if (tb_within(last, from.v[k]) && !tb_holds(in[n++], g->output_bytes, t - 1, from.v[k]))
			peer_fail(tb_refuse(g, t, i, from.v[k], in[n - 1]));
	tb_fill(out, g->output_bytes, t, i);
	sink = g->kernel->run(g, t, i, scratch);
}

static inline double peer_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void peer_report(const struct peer *p, double seconds)
{
	const struct tb_totals n = tb_app_totals(&p->app);
	tb_app_display(&p->app, stdout);
	tb_app_report(&p->app, &n, seconds, stdout);
}

#endif
