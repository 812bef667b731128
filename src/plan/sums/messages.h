/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages that the nodes of a plan exchange with other ranks (op/exchange.h). */
#ifndef DLX_PLAN_MESSAGES_H
#define DLX_PLAN_MESSAGES_H

#include "comm/exchange.h"
#include "comm/reducer.h"
#include "graph/graph.h"

struct device;

/* The ranks that a plan's nodes mean. */
struct messages_teams {
	struct comm *messages;       /* as op/exchange.h counts ranks */
	struct comm *all;            /* that have such a plan, whose steps are checked together: all
	                              * ranks, or messages */
	const struct comm *gradients, *statistics;   /* that sum; NULL: none do */
};

struct messages;
/* Of a plan whose layouts are final. Collective over teams.all: checks that steps end
 * (comm/order.h), where the sums of a team with ranks beyond teams.all are played as if these were
 * all it has, and that both ends of each message fit. sums: what the plan's nodes sum by, borrowed
 * and copied; NULL: nothing is summed. micros: micro-batches of a step. E_BUG, E_NOMEM on all
 * ranks. */
int messages_open(struct messages **out, const struct messages_teams *teams, const struct graph *g,
                  const struct device *dev, const struct links *sums, int64_t micros);
/* NULL is fine; collective over the messages' team. */
void messages_close(struct messages *m);
/* For exec_bind: sums, and the messages. */
const struct links *messages_links(const struct messages *m);
/* Bytes that a graph's messages take on this rank of the team, to the byte; 0: it has none. */
int64_t messages_bytes(const struct graph *g, const struct device *dev, const struct comm *team);

#endif
