/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Task Bench by threads that take each other's tasks, for tasks of different lengths. A task runs
 * as soon as those that it depends on have run, on any of the threads of one process. */
#ifndef DLX_BENCH_TB_STEAL_H
#define DLX_BENCH_TB_STEAL_H

#include "bench/tb_app.h"

struct tb_steal;

/* workers: threads, each bound to a processor of its own if there are enough. E_NOMEM,
 * E_UNAVAILABLE. Borrows app, whose iterations may change between runs. */
int tb_steal_new(struct tb_steal **out, const struct tb_app *app, int workers);
void tb_steal_free(struct tb_steal *s);          /* NULL is fine */
/* All steps of all graphs. E_BUG: a task has found a wrong payload. */
int tb_steal_run(struct tb_steal *s);

#endif
