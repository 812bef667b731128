/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internals of a reducer: reducer.c sets it up, reducer_run.c
 * runs it, reducer_report.c writes its reports. */
#ifndef DLX_COMM_REDUCER_STATE_H
#define DLX_COMM_REDUCER_STATE_H

#include <pthread.h>

#include "comm/across.h"
#include "comm/host_reducer.h"
#include "comm/world.h"

struct reducer_nccl;

struct reducer {
	struct comm *c;
	struct reducer_nccl *gpu;        /* if set, sums are made on GPUs, and only `bucket` and
	                                  * `buckets` of the other members are used; NULL: a reducer in
	                                  * host memory */
	struct host_reducer host;
	struct reducer_bucket *bucket;
	int buckets;
	size_t block_bytes;
	struct world_memory *memory;     /* NULL: one process, or a subgroup's */
	void *plain;                     /* one process */
	_Atomic uint64_t *waited;        /* by bucket: number of starts that were waited for */

	/* With other hosts: a queue of started buckets whose shard was not yet given to MPI. */
	struct across *across;           /* NULL: nothing to send */
	int shard;                       /* this rank's */
	_Atomic uint64_t pushed, popped;
	_Atomic uint64_t *queue;         /* [buckets]: start * buckets + bucket */
	bool *sending;                   /* by bucket */
	int nsending;
	pthread_mutex_t sender;          /* held by the thread that calls MPI */

	bool ready;                      /* on all ranks */
	bool threaded;
	pthread_t thread;
	_Atomic int stop;

	struct reducer_stats stats;
	int64_t link_busy;               /* until when a simulated link is busy (link_delay.h) */
	int64_t *link_bytes;             /* by bucket: what a simulated link transfers */
	int64_t *due;                    /* by bucket: the time at which a sum with modelled peers ends;
	                                  * 0: none is in flight */
	_Atomic int64_t busy[2];         /* nanoseconds, by enum host_caller */
};

/* A reducer over existing memory of the ranks of c, all on one host: `memory` has
 * host_reducer_bytes, then the ranks' blocks. For tests. */
int reducer_of_ranks(struct reducer **out, struct comm *c, void *memory, size_t bytes,
                     const struct reducer_bucket *bucket, int n, bool background);

void *reducer_run(void *reducer);        /* the thread */
/* Raises the error report on bucket k, for which this rank has waited since `begin`
 * (io_nanoseconds). */
int reducer_report(struct reducer *r, int k, int64_t begin);

#endif
