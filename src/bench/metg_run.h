/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Timed runs of Task Bench's graphs by all ranks. */
#ifndef DLX_BENCH_METG_RUN_H
#define DLX_BENCH_METG_RUN_H

#include "bench/tb_app.h"
#include "comm/comm.h"

struct metg_run;

/* Plans the graphs, and binds this rank to a processor of its own if there are enough. Collective.
 * Borrows both; iterations in app may change between runs. thieves: threads of this rank, the only
 * one, that take each other's tasks; 0: the ranks run plans. */
int metg_run_new(struct metg_run **out, struct comm *c, const struct tb_app *app, int thieves);
void metg_run_free(struct metg_run *r);          /* NULL is fine; collective */
double metg_run_cores(const struct metg_run *r);
/* Two passes over all graphs; the time of the second one, from the first rank's beginning to the
 * last rank's end. Collective. */
int metg_run_twice(struct metg_run *r, double *seconds);
/* Prints what planning took. On one rank. */
void metg_run_describe(const struct metg_run *r, int64_t tasks);
/* Makes a pass with a record, and prints where the time went. Collective. */
int metg_run_overhead(struct metg_run *r, int64_t tasks);

#endif
