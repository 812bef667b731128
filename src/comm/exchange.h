/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between ranks alongside a step. Which rank sends what to which one is fixed when a plan
 * is made: an exchange is a list of edges on every rank, and each edge has the same id at both of
 * its ends. In a step the sender writes a message where exchange_room says, exchange_send publishes
 * it, and the receiver reads it where exchange_wait says until it gives the place back
 * (exchange_taken). Nothing in between is copied, allocated or decided.
 *
 * Inside a host the receiver reads the sender's memory; a message of at most EXCHANGE_SMALL bytes
 * is in the cache line of its counter. Between hosts MPI carries it, by persistent requests.
 *
 * An exchange is used by one thread of a rank at a time. Ranks may be threads of one process
 * (comm/rank_threads.h). */
#ifndef DLX_COMM_EXCHANGE_H
#define DLX_COMM_EXCHANGE_H

#include "comm/comm.h"

#define EXCHANGE_SMALL 48

struct exchange_edge {
	int peer;                    /* the rank of the comm at the other end; not this one */
	bool sends;                  /* false: receives */
	int64_t offset;              /* of its places in this rank's block; exchange_lay_out */
	int64_t bytes;               /* of a message, 1 or more */
	int64_t id;                  /* the same at both ends; one edge from a rank to another has it */
	int depth;                   /* messages that may be under way, 1 or more */
	const char *name;            /* for reports: "conv3: row 64"; outlives the exchange */
};

struct exchange;

/* Gives the edges their offsets, and returns the bytes of this rank's block, whatever else there
 * is. For the account of memory, too: exchange_new takes exchange_bytes. */
int64_t exchange_lay_out(struct exchange_edge *edge, int n);
/* What exchange_new takes on this rank for n edges that are laid out, to the byte: the block, and
 * this rank's part of the counters. */
int64_t exchange_bytes(const struct comm *c, const struct exchange_edge *edge, int n);

/* Collective over c; edges are laid out, and copied. n may be 0. Compares both ends of each edge:
 * E_BUG on all ranks, with both names, where one end is missing, or has other bytes or another
 * depth. E_NOMEM, on all ranks, names what is full. */
int exchange_new(struct exchange **out, struct comm *c, const struct exchange_edge *edge, int n);
void exchange_free(struct exchange *x);                  /* NULL is fine; collective */

/* The number of the edge, or -1: for nodes, which know peer and id. */
int exchange_find(const struct exchange *x, int peer, bool sends, int64_t id);

/* --- in a step --- */

/* Where the next message of edge k, which sends, is to be written: aligned to 64 bytes, or to 16
 * where it is small. Waits until one of the last `depth` messages is taken, like exchange_wait. */
int exchange_room(struct exchange *x, int k, void **p);
/* Publishes what was written there. */
void exchange_send(struct exchange *x, int k);
/* Waits for the next message of edge k, which receives: *p, until exchange_taken. 0, or
 * E_UNAVAILABLE after the deadline or when a rank has ended, with a report that follows the ranks
 * that wait for each other; as with reducer_wait, comm_prints is then true on one rank of a host,
 * and all must call comm_abort. */
int exchange_wait(struct exchange *x, int k, const void **p);
/* Gives the place of the message that was waited for back to its sender. */
void exchange_taken(struct exchange *x, int k);

struct exchange_stats {
	double waited;               /* seconds in exchange_room and exchange_wait */
	double bytes;                /* of messages sent */
	int64_t messages;
};
struct exchange_stats exchange_stats(const struct exchange *x);

#endif
