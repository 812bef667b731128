/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages that the nodes of a plan exchange with other ranks (op/exchange.h). */
#ifndef DLX_PLAN_MESSAGES_H
#define DLX_PLAN_MESSAGES_H

#include "comm/exchange.h"
#include "comm/reducer.h"
#include "graph/graph.h"

struct device;

/* The communicators that a plan's nodes use. */
struct messages_teams {
	struct comm *messages;       /* ranks that exchange messages, numbered as in op/exchange.h */
	struct comm *all;            /* ranks that have such a plan and check their steps together:
	                              * those of the run, or `messages` */
	struct nccl *nccl;           /* connects the GPUs of `messages`; NULL: there are none */
	const struct comm *gradients, *statistics;   /* ranks that all-reduce gradients, and batch
	                                              * statistics; NULL: none */
};

struct messages;
/* Opens the messages of a plan whose layouts are final. Checks by simulation that a step cannot
 * deadlock (comm/order.h), and that sender and receiver of each message agree. In the simulation an
 * all-reduce waits for the ranks in teams.all only, even if its team has more. sums: the reducers
 * of the plan's nodes; the struct is copied, the reducers are borrowed; NULL: nothing is summed.
 * micros: micro-batches of a step. E_BUG, E_NOMEM on all ranks. Collective over teams.all. */
int messages_open(struct messages **out, const struct messages_teams *teams, const struct graph *g,
                  const struct device *dev, const struct links *sums, int64_t micros);
/* NULL is fine; collective over the messages' team. */
void messages_close(struct messages *m);
/* The reducers together with the messages, for exec_bind. */
const struct links *messages_links(const struct messages *m);
/* The exact memory, in bytes, of the messages of a plan like that of g, which is for `batch`
 * samples, but for n samples. hosts: of the messages' team. */
int64_t messages_bytes(const struct graph *g, const struct device *dev,
                       const struct exchange_hosts *hosts, int64_t batch, int64_t n);
/* The bytes of host memory that this rank has allocated for them. */
int64_t messages_allocated(const struct messages *m);
/* Bytes of message i that node n, an exchange_send or an exchange_wait, sends or receives. */
int64_t message_bytes(const struct graph *g, const struct device *dev, const struct node *n, int i);

#endif
