/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processes of a run, connected by MPI: initialisation, shared memory of a host, and set-up
 * collectives with a deadline. Internal to src/comm/; other folders use comm.h. */
#ifndef DLX_COMM_WORLD_H
#define DLX_COMM_WORLD_H

#include "comm/liveness.h"
#include "comm/comm.h"
#include "comm/launched.h"

struct world;
struct world_memory;
struct comm_threads;

struct comm_state {
	struct comm *whole;          /* of a subgroup (comm_subgroup): the comm of all ranks, whose
	                              * counts and printer are used; else NULL */
	int *member;                 /* of a subgroup: its ranks, as numbered in the whole */
	struct comm_counts counts;   /* all but messages, which threads of several reducers count
	                              * below */
	_Atomic int64_t messages;
	int printer;                 /* the rank that prints the error */
	bool reported;               /* after a sum that did not complete: printer is one of the ranks
	                              * that detected it */
	struct world *world;         /* NULL: one process */
	struct comm_threads *threads;        /* ranks that are threads (rank_threads.h); NULL: none */
	struct liveness liveness;
	struct world_memory *liveness_memory;
	int *local;                  /* by local rank: number in the whole */
	int *place;                  /* of a subgroup, by local rank: local rank in the whole */
	int *host_of;                /* by rank */
	char (*host_name)[64];       /* by host */
};

static inline struct comm *comm_whole(struct comm *c)
{
	return c->state->whole ? c->state->whole : c;
}

/* The number among all ranks of a local rank. */
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

/* Initialises MPI and fills c and its state, except for the liveness table. If there is only one
 * process (mpiexec -n 1), world stays NULL. */
int world_join(struct comm *c, const struct launched *by);
void world_leave(const struct comm *c);
/* Makes c the communicator of the ranks of `whole` that pass the same colour (>= 0), in their
 * order. Collective over the whole. */
void world_subgroup(struct comm *c, const struct comm *whole, int colour);
void world_subgroup_leave(const struct comm *c); /* collective over the subgroup */
_Noreturn void world_abort(struct world *w, int status);
const char *world_library(void);         /* see comm_library */

/* 0, or nonzero when c->timeout has passed or a rank of this host has ended. */
int world_broadcast(struct comm *c, void *p, size_t bytes, int root);
int world_all_gather(struct comm *c, const void *mine, size_t bytes, void *all);
int world_barrier(struct comm *c);
int world_host_barrier(struct comm *c);          /* a barrier of the ranks of this host */

/* Allocates uninitialised memory shared by all ranks of the host, page-aligned. Collective over the
 * host. 0, or E_NOMEM on all ranks of the host, naming what is full; other codes as above. */
int world_share(struct comm *c, size_t bytes, struct world_memory **out, void **p);
void world_unshare(struct world_memory *m);      /* collective over the host; NULL is fine */

#endif
