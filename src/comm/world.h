/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processes that a launcher started, as MPI knows them: joining them, memory that those of a
 * host share, and set-up collectives that give up at a deadline. Only for src/comm/; comm.h is
 * what others see. */
#ifndef DLX_COMM_WORLD_H
#define DLX_COMM_WORLD_H

#include "comm/liveness.h"
#include "comm/comm.h"
#include "comm/launched.h"

struct world;
struct world_memory;
struct comm_threads;

struct comm_state {
	struct comm *whole;          /* of a subgroup (comm_subgroup): all ranks, whose counts and
	                              * printer serve; else NULL */
	int *member;                 /* of a subgroup: its ranks, as the whole counts them */
	struct comm_counts counts;   /* but for messages, which threads of several reducers send */
	_Atomic int64_t messages;
	int printer;                 /* the rank that says what went wrong */
	bool reported;               /* of a sum that was not complete: printer is chosen among those
	                              * that saw it */
	struct world *world;         /* NULL: one process */
	struct comm_threads *threads;        /* ranks that are threads (rank_threads.h); NULL: none */
	struct liveness liveness;
	struct world_memory *liveness_memory;
	int *local;                  /* ranks of this host, as the whole counts them, by local rank */
	int *place;                  /* of a subgroup: local ranks of the whole, by local rank */
	int *host_of;                /* by rank */
	char (*host_name)[64];       /* by host */
};

static inline struct comm *comm_whole(struct comm *c)
{
	return c->state->whole ? c->state->whole : c;
}

/* The number of a local rank, as the launcher counts them. */
static inline int comm_rank_of(const struct comm *c, int local)
{
	return c->state->local ? c->state->local[local] : local;
}

/* The local rank of rank r of c, or -1: it is on another host. */
static inline int comm_local_of(const struct comm *c, int r)
{
	int local = 0;
	if (c->state->host_of[r] != c->host)
		return -1;
	for (int i = 0; i < r; i++)
		local += c->state->host_of[i] == c->host;
	return local;
}

/* Fills c and its state but for the liveness table. One process
 * after all (mpiexec -n 1): world stays NULL. */
int world_join(struct comm *c, const struct launched *by);
void world_leave(const struct comm *c);
/* c becomes the ranks of `whole` that give the same colour, 0 or more, in their order. Collective
 * over the whole. */
void world_subgroup(struct comm *c, const struct comm *whole, int colour);
void world_subgroup_leave(const struct comm *c); /* collective over the subgroup */
_Noreturn void world_abort(struct world *w, int status);
const char *world_library(void);         /* see comm_library */

/* 0, or nonzero when c->timeout has passed or a rank of this host has ended. */
int world_broadcast(struct comm *c, void *p, size_t bytes, int root);
int world_all_gather(struct comm *c, const void *mine, size_t bytes, void *all);
int world_barrier(struct comm *c);
int world_host_barrier(struct comm *c);          /* of the ranks of this host */

/* Memory that all ranks of the host see, at a page's start and with any content. Collective over
 * the host. 0, or E_NOMEM on all ranks of the host with what has no room; other codes as above. */
int world_share(struct comm *c, size_t bytes, struct world_memory **out, void **p);
void world_unshare(struct world_memory *m);      /* collective over the host; NULL is fine */

#endif
