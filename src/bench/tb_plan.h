/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Task Bench on dlx's executor. All graphs of the command line become one plan of this rank, in
 * which a task is a node, an edge within the rank a tensor, and edges to another rank are a message
 * (comm/exchange.h) for each graph, step and peer. The plan has TB_UNROLL steps, times the period
 * of the graphs, and is run again and again; a second plan has the steps that remain. The order of
 * nodes is fixed: within a step the tasks that need no message come first, for all graphs, then
 * graph by graph the messages of the last step, the tasks that read them, and what is sent. */
#ifndef DLX_BENCH_TB_PLAN_H
#define DLX_BENCH_TB_PLAN_H

#include "bench/task_nodes.h"

#define TB_UNROLL 64

struct tb_plan;

/* Collective over c. Borrows c and app, whose iterations may change between runs. alone: each rank
 * has a processor of its own. E_NOMEM. */
int tb_plan_new(struct tb_plan **out, struct comm *c, const struct tb_app *app, bool alone);
void tb_plan_free(struct tb_plan *p);            /* NULL is fine; collective */
/* All steps of all graphs, from the first one. record: begun by the caller, or NULL; with it the
 * run takes longer. E_BUG: a task has found a wrong payload. After an error the other ranks wait
 * for messages: call comm_abort. */
int tb_plan_run(struct tb_plan *p, struct task_record *record);
int tb_plan_nodes(const struct tb_plan *p);

#endif
