/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Task Bench's command line and report. Flags and lines are those of the original, so that its
 * scripts can start these programs and read their output. */
#ifndef DLX_BENCH_TB_APP_H
#define DLX_BENCH_TB_APP_H

#include <stdio.h>

#include "bench/tb_graph.h"

#define TB_GRAPHS 64

struct tb_app {
	int ngraph;
	struct tb_graph graph[TB_GRAPHS];
	int64_t nodes;               /* for the estimate of local dependences; 0: none */
	int verbose;
	bool iterates;               /* -iter was given */
	bool help;
};

/* Reads Task Bench's flags and removes them from argv, as option_read does; arguments that begin
 * with two dashes or with none remain. E_USAGE for a flag that there is not (the original ignores
 * it) and for a wrong value. */
int tb_app_read(struct tb_app *a, int *argc, char **argv);
void tb_app_help(FILE *out);

void tb_app_display(const struct tb_app *a, FILE *out);

struct tb_totals {
	int64_t tasks, dependences, flops, bytes;
	int64_t local, nonlocal;     /* dependences, by a->nodes */
	int64_t local_bytes, nonlocal_bytes;
};
struct tb_totals tb_app_totals(const struct tb_app *a);
void tb_app_report(const struct tb_app *a, const struct tb_totals *n, double seconds, FILE *out);

#endif
