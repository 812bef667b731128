/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internals of an exchange: exchange.c sets it up and compares its ends, exchange_host.c carries
 * messages inside a host, exchange_mpi.c between hosts. */
#ifndef DLX_COMM_EXCHANGE_STATE_H
#define DLX_COMM_EXCHANGE_STATE_H

#include <stdatomic.h>

#include "comm/exchange.h"
#include "comm/world.h"

/* --- in the memory that a host shares, by rank: an exchange_rank, its exchange_sends, a line for
 * each place of them, the block --- */

/* A place of an edge. `sent` of place i counts the messages of the edge so far, when the last one
 * was written here: 1 + i, 1 + i + depth, ... */
struct exchange_line {
	_Alignas(64) _Atomic uint64_t sent;
	int64_t due;                 /* when the message may be read (DLX_DEBUG=link); 0: at once */
	char small[EXCHANGE_SMALL];  /* the message itself */
};

/* Of an edge that sends, where its receiver finds it. */
struct exchange_sends {
	_Alignas(64) _Atomic uint64_t taken;   /* messages, by the receiver */
	int64_t id;
	int peer;                    /* rank of the exchange's comm */
	int64_t line;                /* its first one, of the rank's */
	int64_t at;                  /* its first place, bytes into the rank's block */
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
	/* Inside a host: */
	struct exchange_rank *other; /* whom a change may wake */
	struct exchange_sends *sends;
	struct exchange_line *line;
	char *place;                 /* its first; NULL: messages are small */
	int64_t apart;               /* bytes from place to place */
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
	struct exchange_mpi *mpi;    /* NULL: all peers are on this host */
	struct exchange_stats stats;
};

static inline bool exchange_is_small(const struct exchange_edge *e)
{
	return e->bytes <= EXCHANGE_SMALL;
}

/* Bytes from place to place in the block; 0 for small messages. */
int64_t exchange_apart(const struct exchange_edge *e);

/* --- exchange_host.c --- */

/* Bytes of this rank's part of the shared memory, in whole pages. */
int64_t exchange_host_bytes(const struct exchange_edge *edge, int n);
/* part: of this rank; zero. Lays out what others find. */
void exchange_host_write(struct exchange *x, char *part);
/* Connects the ends whose peer is on this host, after a barrier; part: by local rank. What goes to
 * another host has its places here, too. */
void exchange_host_connect(struct exchange *x, char *const *part);
bool exchange_host_room(const struct exchange_end *e);
bool exchange_host_came(const struct exchange_end *e);
/* These wake the peer. */
void exchange_host_send(struct exchange_end *e, int64_t due);
void exchange_host_taken(struct exchange_end *e);

#endif
