/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-reduce among the ranks of one host, in shared memory. A rank arrives at a bucket when its
 * values are written. Once all have arrived, the bucket is cut into pieces, and any idle thread of
 * any rank claims the next one. A rank waits only for the holders of pieces.
 *
 * With other hosts there are two rounds. First, pieces of a shard are summed into the block of the
 * shard's owner alone. The owner all-reduces the shard with the other hosts and publishes that
 * (host_reducer_sent). Then the pieces are copied into the other blocks. */
#ifndef DLX_COMM_HOST_REDUCER_H
#define DLX_COMM_HOST_REDUCER_H

#include <stdatomic.h>

#include "comm/futex.h"
#include "comm/reducer.h"

/* Monotonic counters since the beginning: nothing is ever
 * reset, so no rank can confuse the states of two steps. */
struct host_shard {            /* a shard of a bucket */
	_Alignas(64) _Atomic uint64_t claimed[2], finished[2];   /* pieces, by round */
	_Atomic uint64_t sent;     /* number of the latest start of the bucket whose sum over hosts the
	                            * owner has */
};
struct host_bucket {           /* a bucket */
	_Alignas(64) _Atomic uint64_t arrived;       /* arrivals of ranks, summed over all starts */
	_Atomic uint64_t done;                       /* shards completed, summed over all starts */
	/* For traces, in io_nanoseconds: came and came_at: the last rank to arrive and its time, one
	 * entry each for even and odd starts, since a rank may be one start ahead of another; done_at:
	 * when the latest sum was done. */
	_Atomic int64_t came_at[2], done_at;
	_Atomic int came[2];
	_Atomic int64_t began_at[2];                 /* the latest start of all ranks, by model_clock */
};
struct host_rank {             /* for reports */
	_Alignas(64) _Atomic int last;               /* the bucket it started last, from 1 */
	_Atomic int64_t since;                       /* when; io_nanoseconds */
	_Atomic int works_on[2];                     /* by enum host_caller: the bucket of which its
	                                              * thread (its waiter) holds a piece, from 1 */
};
struct host_head {
	struct futex_event work;         /* a bucket's pieces can be claimed */
	struct futex_event news;         /* that, or a bucket is done */
	_Atomic int reporter;            /* the local rank that reports the error, from 1 */
};

struct host_share {            /* a shard of a bucket; the same on all ranks */
	int64_t first, n, piece;   /* elements */
	uint64_t pieces;
};

struct host_reducer {
	int me, n;                       /* local ranks */
	int buckets, shards;
	int rounds;                      /* 2 with other hosts, else 1 */
	const struct reducer_bucket *bucket;
	struct host_share *share;        /* [bucket][shard] */
	uint64_t *whole;                 /* by bucket: number of shards that are not empty */
	/* shared */
	struct host_head *head;
	struct host_bucket *post;        /* by bucket */
	struct host_shard *unit;         /* [bucket][shard] */
	struct host_rank *rank;          /* by local rank */
	_Atomic uint64_t *started;       /* [rank][bucket] */
	char **block;                    /* by local rank */
	int64_t *began;                  /* by bucket: this rank's latest start, io_nanoseconds */
	void **lane[2];                  /* for host_reducer_work, by enum
	                                  * host_caller: pointers by local rank */
};

enum host_caller { HOST_THREAD, HOST_WAITER };

/* Bytes of shared memory for all but the blocks, a multiple of a page. */
size_t host_reducer_bytes(int ranks, int buckets, int shards);
/* memory: host_reducer_bytes of zeroes, then the ranks' blocks of block_bytes each, a multiple of a
 * page. Not collective. */
void host_reducer_init(struct host_reducer *d, void *memory, size_t block_bytes, int me, int ranks,
                       const struct reducer_bucket *bucket, int buckets, int hosts, int shards);
void host_reducer_release(struct host_reducer *d);

void host_reducer_arrive(struct host_reducer *d, int k);
uint64_t host_reducer_starts(const struct host_reducer *d, int rank, int k); /* number of starts of
                                                                              * bucket k by a local
                                                                              * rank */
uint64_t host_reducer_started(const struct host_reducer *d, int k); /* number of starts of bucket k
                                                                     * by this rank */
/* the sum of this rank's latest start */
bool host_reducer_done(const struct host_reducer *d, int k);
/* The times of this rank's latest start, which is done: when its last rank arrived, which rank of
 * this host that was, and when it was done. */
struct host_times {
	int64_t began, came, done;
	int last;
};
/* When the last rank started bucket k, by the model clock; after the sum is done. */
int64_t host_reducer_began(const struct host_reducer *d, int k);
struct host_times host_times(const struct host_reducer *d, int k);
/* Reduces a piece of bucket k if there is one to claim. */
bool host_reducer_work(struct host_reducer *d, int k, enum host_caller caller);
/* For two rounds. host_reducer_summed: whether the first round of this start is done for shard s of
 * bucket k. host_reducer_sent: announces that the sum over hosts of shard s, for this rank's latest
 * start, is in this rank's block. */
bool host_reducer_summed(const struct host_reducer *d, int k, int s, uint64_t start);
void host_reducer_sent(struct host_reducer *d, int k, int s);

#endif
