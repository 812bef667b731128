/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which payloads ranks exchange, and the nodes of a plan. */
#ifndef DLX_BENCH_TB_WEAVE_H
#define DLX_BENCH_TB_WEAVE_H

#include "bench/task_nodes.h"
#include "graph/graph.h"

/* A message between this rank and another one: the payloads of some columns of a graph, before each
 * step at which a set of dependences applies. */
struct tb_message {
	int peer;
	bool sends;
	int64_t graph, set, id;
	int64_t n;
	int64_t *column;             /* ascending */
	char name[40];
};

struct tb_messages {
	int n;
	struct tb_message *v;
};

/* All messages of rank `rank` of `ranks`. edges: by graph. */
struct tb_messages tb_messages_find(const struct tb_app *app, struct tb_edges *const *edges,
                                    int rank, int ranks);
void tb_messages_release(struct tb_messages *m);

struct tb_woven {
	int64_t steps;
	bool follows;                /* may begin after another run: the payloads of its last step are
	                              * in states */
	bool leads;                  /* another run follows: the payloads of the last step are left in
	                              * states */
};
/* Makes the nodes of a plan, in order. m[k] is the edge number k of the exchange. */
int tb_weave(struct graph *g, struct task_rank *r, struct tb_edges *const *edges,
             const struct tb_messages *m, const struct tb_woven *what);

#endif
