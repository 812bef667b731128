/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deadlock check. The messages and sums that each rank starts and waits for, and their order, are
 * fixed when plans are made. So before the first step this file simulates the communication of all
 * ranks, and finds any wait that would never end. */
#ifndef DLX_COMM_ORDER_H
#define DLX_COMM_ORDER_H

#include "comm/comm.h"

enum order_kind {
	ORDER_SEND,                  /* sends a message; waits while `of` messages of the edge are not
	                              * taken */
	ORDER_RECEIVE,               /* waits for a message and takes it */
	ORDER_START,                 /* starts a sum */
	ORDER_SUM                    /* waits for a sum, if this rank has started it */
};

struct order_event {
	enum order_kind kind;
	int peer;                    /* for a message the rank at the other end; for a sum the first
	                              * rank of the team */
	int64_t id;                  /* for a message its edge's id; for a sum its number in the team,
	                              * with the number of the reducer in the bits above 32 */
	int of;                      /* for a message the depth of the edge; for a sum the number of
	                              * ranks of the team */
	const char *node;            /* name of the layer */
	const char *name;            /* name of the message or the sum */
};

struct order {                 /* the communication of one rank in a step, in order */
	const struct order_event *event;
	int n;
};

/* Simulates steps of all ranks (rank[0 .. ranks - 1]) until the state of messages in flight
 * repeats. E_BUG if a wait would never end; the message names the rank, its node, what it waits
 * for, and the nodes at which the ranks that it waits for have stopped. same_starts: also require
 * that all ranks start the sums of a reducer in the same order, which MPI and NCCL need. */
int order_play(const struct order *rank, int ranks, bool same_starts);

/* The same for this rank's order and those of all other ranks; collective. Orders that are equal
 * once peers are numbered relative to the rank are communicated only once. Returns the same on all
 * ranks. */
int order_check(struct comm *c, struct order mine, bool same_starts);

#endif
