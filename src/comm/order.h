/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether steps in which ranks wait for each other can end. What a rank sends and waits for, and
 * the sums that it starts and waits for, are fixed when plans are made, and their order is known.
 * So is, therefore, whether a wait never ends: steps are played once, before the first one. */
#ifndef DLX_COMM_ORDER_H
#define DLX_COMM_ORDER_H

#include "comm/comm.h"

enum order_kind {
	ORDER_SEND,                  /* waits while `of` messages of the edge are not taken */
	ORDER_RECEIVE,               /* waits for a message, and takes it */
	ORDER_START,                 /* of a sum */
	ORDER_SUM                    /* waits for one, if this rank has started it */
};

struct order_event {
	enum order_kind kind;
	int peer;                    /* of messages the rank at the other end; of sums the first rank
	                              * of the team */
	int64_t id;                  /* of the message among those from one rank to another; of the sum
	                              * in the team: the bits above 32 number its reducer */
	int of;                      /* depth of the edge; ranks of the team */
	const char *node;            /* the layer */
	const char *name;            /* of the message or the sum */
};

struct order {                 /* a step of a rank */
	const struct order_event *event;
	int n;
};

/* Plays steps of all ranks, by rank, until what is under way repeats. E_BUG where a wait would
 * never end: names the rank, its node and what it waits for, and the nodes where those are that
 * should bring it. same_starts: the sums of a reducer have to be started in one order, as they have
 * between hosts and on GPUs. */
int order_play(const struct order *rank, int ranks, bool same_starts);

/* The same, of this rank's order and those of all others; collective. Orders that differ in no more
 * than the rank from which peers are counted travel once. The same return on all ranks. */
int order_check(struct comm *c, struct order mine, bool same_starts);

#endif
