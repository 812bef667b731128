/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internals of an exchange: exchange.c sets it up and checks that both ends of each edge agree,
 * exchange_host.c transfers messages within a host, exchange_mpi.c between hosts. */
#ifndef DLX_COMM_EXCHANGE_STATE_H
#define DLX_COMM_EXCHANGE_STATE_H

#include <stdatomic.h>

#include "comm/exchange.h"
#include "comm/world.h"

/* --- in the memory that a host shares, by rank: an exchange_rank, its exchange_sends, a line for
 * each place of them, the block --- */

/* One buffer of an edge. In buffer i, `sent` is the number (from 1) of the message in it, counted
 * over the edge: 1 + i, 1 + i + depth, ... */
struct exchange_line {
	_Alignas(64) _Atomic uint64_t sent;
	int64_t due;                 /* when the message may be read (DLX_DEBUG=link); 0: at once */
	char small[EXCHANGE_SMALL];  /* the message itself */
};

/* A sending edge, as its receiver finds it in shared memory. */
struct exchange_sends {
	_Alignas(64) _Atomic uint64_t taken;   /* number of messages that the receiver has taken */
	int64_t id;
	int peer;                    /* rank of the exchange's comm */
	int64_t line;                /* index of its first exchange_line among those of the rank */
	int64_t at;                  /* its first buffer: bytes into the rank's block */
};

struct exchange_rank {
	_Alignas(64) _Atomic uint32_t asleep;  /* a futex */
	int sends;
	int64_t lines;
	_Alignas(64) _Atomic int reporter;
};

/* --- of this rank alone --- */

struct exchange_request;             /* exchange_mpi.c's, of an edge to another host */

struct exchange_end {
	struct exchange_edge edge;
	uint64_t count;              /* messages sent, or taken */
	uint64_t known;              /* of a sending end: `taken` as it was read last */
	/* Inside a host: */
	struct exchange_rank *other; /* the peer's entry: the rank to wake after a change */
	struct exchange_sends *sends;
	struct exchange_line *line;
	char *place;                 /* its first buffer; NULL: messages are small */
	int64_t apart;               /* bytes from buffer to buffer */
	struct exchange_request *request;    /* else */
};

struct exchange {
	struct comm *c;
	int n;
	struct exchange_end *end;
	int *order;                  /* ends by (peer, sends, id) */
	struct exchange_rank *mine;
	struct world_memory *memory;
	bool ready;                  /* on all ranks */
	int64_t bytes;               /* of host memory that this rank has allocated */
	struct exchange_mpi *mpi;    /* NULL: all peers are on this host */
	struct exchange_gpu *gpu;    /* exchange_gpu.c's; NULL: messages are in host memory */
	struct exchange_stats stats;
	int64_t look;                /* nanoseconds of looking before the first sleep */
};

static inline bool exchange_is_small(const struct exchange_edge *e)
{
	return e->bytes <= EXCHANGE_SMALL;
}

/* Bytes from buffer to buffer of messages that are not small. */
static inline int64_t exchange_padded(int64_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/* Bytes from buffer to buffer in the block; 0 for small messages. */
int64_t exchange_apart(const struct exchange_edge *e);

/* --- exchange.c --- */

/* An exchange with these edges, of which nothing but `order` is set up. */
struct exchange *exchange_allocate(struct comm *c, const struct exchange_edge *edge, int n);
/* Checks that each end has its counterpart: E_BUG on all ranks, with both names. Collective. */
int exchange_compare(struct exchange *x);

/* --- exchange_gpu.c --- */

void exchange_gpu_free(struct exchange_gpu *gpu);        /* NULL is fine; collective */

/* --- exchange_host.c --- */

/* Bytes of this rank's part of the shared memory, in whole pages. */
int64_t exchange_host_bytes(const struct exchange_edge *edge, int n);
/* Writes the tables that other ranks read into this rank's part of the shared memory, which is zero
 * before. */
void exchange_host_write(struct exchange *x, char *part);
/* Connects the ends whose peer is on this host, after a barrier; part: by local rank. Also sets the
 * buffers of messages to other hosts. */
void exchange_host_connect(struct exchange *x, char *const *part);
bool exchange_host_room(struct exchange_end *e);
bool exchange_host_came(const struct exchange_end *e);
/* These wake the peer. */
void exchange_host_send(struct exchange_end *e, int64_t due);
void exchange_host_taken(struct exchange_end *e);

#endif
