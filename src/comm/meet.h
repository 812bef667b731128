/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dispatches collectives to MPI (world.h), or, if ranks are threads of one process, to
 * rank_threads.c, which uses their common memory. Internal to src/comm/. */
#ifndef DLX_COMM_MEET_H
#define DLX_COMM_MEET_H

#include "comm/world.h"

/* --- rank_threads.c: as the functions of world.h --- */

int threads_broadcast(struct comm *c, void *p, size_t bytes, int root);
int threads_all_gather(struct comm *c, const void *mine, size_t bytes, void *all);
int threads_barrier(struct comm *c);
/* The memory is zeroed, and freed when the ranks have ended. */
int threads_share(struct comm *c, size_t bytes, void **p);
/* Like world_subgroup; member: the ranks of the subgroup, as numbered in `whole`. Freed when the
 * ranks have ended. */
void threads_subgroup(struct comm *c, struct comm *whole, const int *member);

/* Whether c has several ranks, so that collectives communicate. */
static inline bool meets(const struct comm *c)
{
	return c->state->world || c->state->threads;
}

static inline int meet_broadcast(struct comm *c, void *p, size_t bytes, int root)
{
	return c->state->threads ? threads_broadcast(c, p, bytes, root) :
	       world_broadcast(c, p, bytes, root);
}

static inline int meet_all_gather(struct comm *c, const void *mine, size_t bytes, void *all)
{
	return c->state->threads ? threads_all_gather(c, mine, bytes, all) :
	       world_all_gather(c, mine, bytes, all);
}

static inline int meet_barrier(struct comm *c)
{
	return c->state->threads ? threads_barrier(c) : world_barrier(c);
}

static inline void meet_subgroup(struct comm *c, struct comm *whole, int colour)
{
	if (whole->state->threads)
		threads_subgroup(c, whole, c->state->member);
	else
		world_subgroup(c, whole, colour);
}

static inline void meet_subgroup_leave(const struct comm *c)
{
	if (c->state->world)
		world_subgroup_leave(c);
}

/* *out: NULL for threads, which world_unshare takes. */
static inline int meet_share(struct comm *c, size_t bytes, struct world_memory **out, void **p)
{
	*out = NULL;
	return c->state->threads ? threads_share(c, bytes, p) : world_share(c, bytes, out, p);
}

#endif
