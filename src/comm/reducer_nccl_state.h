/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internals of a reducer on a GPU, and the progress of each rank's GPU, which the ranks of a host
 * share. Only for reducer_nccl*.c. */
#ifndef DLX_COMM_REDUCER_NCCL_STATE_H
#define DLX_COMM_REDUCER_NCCL_STATE_H

#include "backend/cuda/cuda_side.h"
#include "base/deadline.h"
#include "comm/nccl.h"
#include "comm/reducer_nccl.h"
#include "comm/world.h"

/* In memory that the host's ranks share. */
struct gpu_slot {
	_Alignas(64) _Atomic uint64_t begun, done;
	_Atomic int64_t bucket, since;       /* of the all-reduce begun last: its bucket, and when the
	                                      * host first saw it */
};

struct reducer_nccl {
	struct comm *c;
	struct reducer_bucket *bucket;
	int buckets;
	const struct device *dev;
	struct nccl *nccl;
	struct cuda_side *side;
	bool marks;                          /* buckets are messages, not sums */
	bool concurrent;                     /* all-reduces run on the side stream; false: in the
	                                      * compute stream */
	void *block;
	size_t block_bytes;
	float *scratch;                      /* for sums with a fixed order; NULL: there are none */
	size_t scratch_bytes;
	bool ready;                          /* on all ranks */
	struct gpu_slot *slot;               /* by local rank */
	struct world_memory *shared;         /* the slots'; NULL: one process */
	bool lagged;                         /* some bucket is lagged */
	bool lagged_begun;                   /* all-reduces of lagged buckets have begun since the
	                                      * latest start of one */
	int failed;                          /* error code of a start, which itself returns none;
	                                      * reported by the wait */
	struct cuda_progress counted;        /* the progress that is already counted in `stats` */
	struct reducer_stats stats;
	/* The all-reduce in flight as the waiting thread sees it: which one, for how long, and when to
	 * check the other ranks next. */
	uint64_t watched;
	struct deadline deadline;
	double round;
};

static inline struct gpu_slot *gpu_slot(const struct reducer_nccl *r)
{
	return &r->slot[r->c->local_rank];
}

/* Enqueues an all-reduce with a fixed order. */
int reducer_nccl_ordered(const struct reducer_nccl *r, float *p, int64_t n);

/* Raises the error report on the sum that this rank's GPU has begun but not finished, and aborts
 * it. trouble: NCCL's error text, or NULL. */
int reducer_nccl_report(struct reducer_nccl *r, const char *trouble);

#endif
