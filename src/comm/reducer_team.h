/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internals of a reducer: reducer.c sets it up, reducer_run.c
 * runs it, reducer_report.c writes its reports. */
#ifndef DLX_COMM_REDUCER_TEAM_H
#define DLX_COMM_REDUCER_TEAM_H

#include <pthread.h>

#include "comm/across.h"
#include "comm/node.h"
#include "comm/world.h"

struct reducer_nccl;

struct reducer {
	struct comm *c;
	struct reducer_nccl *gpu;        /* sums on GPUs, and of all else here the groups; NULL: the host's */
	struct node node;
	struct reducer_group *group;
	int groups;
	size_t block_bytes;
	struct world_memory *memory;     /* NULL: one process, or a team's */
	void *plain;                     /* one process */
	_Atomic uint64_t *waited;        /* by group: starts that were waited for */

	/* With other hosts: groups in the order of their starts, until their shard is given to MPI. */
	struct across *across;           /* NULL: nothing to send */
	int shard;                       /* this rank's */
	_Atomic uint64_t pushed, popped;
	_Atomic uint64_t *queue;         /* [groups]: start * groups + group */
	bool *sending;                   /* by group */
	int nsending;
	pthread_mutex_t sender;          /* held by the thread that calls MPI */

	bool ready;                      /* on all ranks */
	bool threaded;
	pthread_t thread;
	_Atomic int stop;

	struct reducer_stats stats;
	_Atomic int64_t busy[2];         /* nanoseconds, by enum node_caller */
};

/* A reducer over memory that the ranks of c, all on one host, have already: `memory` has
 * node_bytes and then their blocks. */
int reducer_team(struct reducer **out, struct comm *c, void *memory, size_t bytes,
                 const struct reducer_group *group, int n, bool background);

void *reducer_run(void *reducer);        /* the thread */
/* Raises the report on group k, for which this rank has waited since `begin`. */
int reducer_report(struct reducer *r, int k, int64_t begin);

#endif
