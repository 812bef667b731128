/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-reduces that overlap a step. A reducer is one block of memory on every
 * rank, cut into buckets at planning time. In a step each rank writes
 * the values of a bucket into the block, starts the all-reduce, and later waits
 * for the result in the same place, with the same bits on every rank.
 *
 * Inside a host the block is shared memory: threads of all ranks sum pieces of complete buckets,
 * directly from all ranks' blocks into all of them; a thread that waits helps. Between hosts each
 * local rank all-reduces its shard by MPI with the ranks of the same number on the other hosts
 * (only the first rank of each host where hosts have unequal counts).
 *
 * On GPUs NCCL does the all-reduce (reducer_nccl.h); the interface is the same.
 *
 * Sums are computed in float32 (float64 in float64), within a host as a binary tree over the ranks,
 * whichever thread computes them; 16-bit buckets are rounded once a level. */
#ifndef DLX_COMM_REDUCER_H
#define DLX_COMM_REDUCER_H

#include "base/types.h"
#include "comm/comm.h"

struct device;
struct exchange;
struct nccl;
struct reducer;

/* The objects by which nodes communicate with other ranks; passed to kernels in struct kargs. */
struct links {
	struct reducer *gradients;   /* sums of gradients, which overlap the step; NULL: gradients are
	                              * not summed */
	struct reducer *statistics;  /* sums of batch norm's statistics, for which the step waits; NULL:
	                              * each rank uses its own statistics */
	struct exchange *messages;   /* NULL: no node sends */
};

struct reducer_bucket {
	int64_t offset;              /* bytes into the block; a multiple of 64 */
	int64_t n;                   /* elements; may be 0 */
	enum dtype dtype;            /* F32, F16, BF16 or F64 */
	const char *name;            /* for reports: "conv5.weight and 3 more"; outlives the reducer */
	/* Between hosts too the order of the sum is the tree of comm/sum.h, so that with equal powers
	 * of two of ranks on each host it is the tree over all ranks, host by host. Not MPI's, which is
	 * faster where there are many hosts. Within a host the order is that tree anyway. */
	bool ordered;
	bool lagged;                 /* waited for in the step after the one that starts it */
};

/* Collective. bytes: size of the block, the same on all ranks; it is zeroed. Buckets must not
 * overlap, and should be in the order in which they start. background: a thread of the reducer
 * makes progress between start and wait; false: only waiting threads do (batch statistics). With
 * one rank the block is plain memory and a sum is the value itself. E_NOMEM, on all ranks, names
 * what is full (/dev/shm). */
int reducer_new(struct reducer **out, struct comm *c, size_t bytes,
                const struct reducer_bucket *bucket, int n, bool background);
/* The same in the memory of a GPU (reducer_nccl.h), also for one rank. concurrent: all-reduces
 * overlap the computation that follows their start; false: they run in the compute stream. */
struct reducer_place {
	const struct device *dev;
	struct comm *comm;           /* the ranks that nccl connects */
	struct nccl *nccl;
	bool concurrent;
};
int reducer_new_gpu(struct reducer **out, const struct reducer_place *where, size_t bytes,
                    const struct reducer_bucket *bucket, int n);
void reducer_free(struct reducer *r);            /* NULL is fine; collective */
void *reducer_memory(const struct reducer *r);   /* this rank's block (for tests) */
void *reducer_bucket_memory(const struct reducer *r, int k);     /* the address of bucket k in it */

/* --- in a step: allocate nothing, decide nothing. By one thread of the rank at a time. --- */

/* This rank's values of bucket k are in the block; they must not be touched until waited for.
 * Buckets are started in the same order on all ranks. A bucket must have been waited for before it
 * is started again. */
void reducer_start(struct reducer *r, int k);
/* Blocks until the sum of bucket k is in the block of this rank; no rank writes it there until this
 * one starts the bucket again. Returns at once if the bucket is not in flight. 0, or E_UNAVAILABLE
 * after the deadline or when a rank is gone, with the report: which bucket of which step, which
 * ranks are present, which are missing, since when. comm_prints is then true on one rank; the
 * others have a short record, and all must call comm_abort. */
int reducer_wait(struct reducer *r, int k);

/* Whether bucket k was started and not yet waited for. */
bool reducer_under_way(const struct reducer *r, int k);

/* Call between steps, when all buckets were waited for and the memory of lagged buckets holds sums,
 * the same on all ranks: the next wait then returns these sums. Only a reducer on GPUs
 * (reducer_nccl.h), whose lagged all-reduces begin with the next step, has work to do here. */
int reducer_keep(struct reducer *r);

struct reducer_stats {
	double waited;               /* seconds in reducer_wait */
	double busy;                 /* seconds that this rank's thread and waiters summed or sent */
	double bytes;                /* bytes of the buckets reduced */
	int64_t reductions;
};
struct reducer_stats reducer_stats(const struct reducer *r);

#endif
