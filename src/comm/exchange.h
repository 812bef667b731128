/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Point-to-point messages between ranks within a step. Senders, receivers and sizes are fixed when
 * a plan is made: each rank has a list of edges, and an edge has the same id at both ends. In a
 * step the sender gets a buffer by exchange_room, writes the message there and publishes it by
 * exchange_send; the receiver gets its address by exchange_wait, reads it in place and returns the
 * buffer by exchange_taken. Nothing is copied, allocated or decided in between.
 *
 * Within a host the receiver reads the sender's memory; a message of at most EXCHANGE_SMALL bytes
 * shares a cache line with its counter. Between hosts messages are sent by persistent MPI requests.
 *
 * An exchange is used by one thread of a rank at a time. Ranks may be threads of one process
 * (comm/rank_threads.h). */
#ifndef DLX_COMM_EXCHANGE_H
#define DLX_COMM_EXCHANGE_H

#include "comm/comm.h"

struct reducer_place;

#define EXCHANGE_SMALL 48

struct exchange_edge {
	int peer;                    /* the rank of the comm at the other end; not this one */
	bool sends;                  /* false: receives */
	int64_t offset;              /* bytes into this rank's block, where the edge's buffers begin;
	                              * set by exchange_lay_out */
	int64_t bytes;               /* bytes of a message, at least 1 */
	int64_t id;                  /* the same at both ends; unique among the edges from one rank to
	                              * another */
	int depth;                   /* number of buffers, that is, messages that may be in flight; at
	                              * least 1 */
	const char *name;            /* for reports: "conv3: row 64"; outlives the exchange */
	int node;                    /* on GPUs: number of the node whose messages are sent together,
	                              * from 0 on; this rank's own count */
};

struct exchange;

/* The hosts of the ranks of a comm, which need not be there. */
struct exchange_hosts {
	const int *of;               /* by rank; NULL: all are on one */
	int rank;                    /* the rank that the edges belong to */
};

/* Sets the offsets of the edges and returns the size of this rank's block in bytes. (All memory
 * that exchange_new allocates is exchange_bytes.) */
int64_t exchange_lay_out(struct exchange_edge *edge, int n);
/* The exact number of bytes that exchange_new allocates on this rank for n edges with offsets: the
 * block, this rank's counters, and the buffers of messages that come from other hosts. */
int64_t exchange_bytes(const struct exchange_hosts *hosts, const struct exchange_edge *edge, int n);

/* Collective over c; edges are laid out, and copied. n may be 0. Compares both ends of each edge:
 * E_BUG on all ranks, with both names, where one end is missing, or has other bytes or another
 * depth. E_NOMEM, on all ranks, names what is full. */
int exchange_new(struct exchange **out, struct comm *c, const struct exchange_edge *edge, int n);
void exchange_free(struct exchange *x);                  /* NULL is fine; collective */
/* Bytes of host memory that this rank has allocated for it. */
int64_t exchange_allocated(const struct exchange *x);

/* How long a wait looks for its message before the thread sleeps; 3000 by default. A sleeping rank
 * answers after some ten microseconds, in which the other one goes to sleep too if it looks for a
 * shorter time, and so on from message to message. Longer is better only if each rank has a
 * processor of its own: otherwise it takes time from the rank that it waits for. */
void exchange_look(struct exchange *x, int64_t nanoseconds);

/* The same between GPUs, whose messages NCCL sends from where they are, in the device's compute
 * stream. Messages are float32. where: as for a reducer; nodes: their number, the same on all
 * ranks. */
int exchange_new_gpu(struct exchange **out, const struct reducer_place *where,
                     const struct exchange_edge *edge, int n, int nodes);
/* Bytes of GPU memory that it allocates. */
int64_t exchange_gpu_bytes(const struct exchange_edge *edge, int n, int nodes);
/* Enqueues all messages of a node: from[i] is sent by edge[i], of n; what comes is received in
 * memory of the exchange. */
int exchange_swap(struct exchange *x, int node, const int *edge, const void *const *from, int n);
/* Where the message of receiving edge k is, after exchange_swap in the compute stream. */
const void *exchange_received(const struct exchange *x, int k);

/* The index of the edge with this peer, direction and id, or -1. */
int exchange_find(const struct exchange *x, int peer, bool sends, int64_t id);

/* --- in a step --- */

/* *p: the buffer for the next message of the sending edge k, aligned to 64 bytes (16 for a small
 * message). Waits for a free buffer: until fewer than `depth` messages are in flight. Errors as in
 * exchange_wait. */
int exchange_room(struct exchange *x, int k, void **p);
/* Publishes the message that was written to exchange_room's buffer. */
void exchange_send(struct exchange *x, int k);
/* Waits for the next message of the receiving edge k; *p points to it until exchange_taken. 0, or
 * E_UNAVAILABLE after the deadline or if a rank has ended, with a report on the chain of ranks that
 * wait for each other. As with reducer_wait, comm_prints is then true on one rank of a host, and
 * all ranks must call comm_abort. */
int exchange_wait(struct exchange *x, int k, const void **p);
/* Returns the buffer of the message received last to its sender. */
void exchange_taken(struct exchange *x, int k);

struct exchange_stats {
	double waited;               /* seconds in exchange_room and exchange_wait */
	double bytes;                /* bytes of all messages sent */
	int64_t messages;
};
struct exchange_stats exchange_stats(const struct exchange *x);

#endif
