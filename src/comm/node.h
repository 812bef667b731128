/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-reduce among the ranks of one host, in shared memory. A rank arrives at a bucket when its
 * values are written. Once all have arrived, the bucket is cut into pieces, and any idle thread of
 * any rank claims the next one. A rank waits only for the holders of pieces.
 *
 * With other hosts there are two rounds. First, pieces of a shard are summed into the block of the
 * shard's owner alone. The owner all-reduces the shard with the other hosts and publishes that
 * (node_sent). Then the pieces are copied into the other blocks. */
#ifndef DLX_COMM_NODE_H
#define DLX_COMM_NODE_H

#include <stdatomic.h>

#include "comm/futex.h"
#include "comm/reducer.h"

/* Monotonic counters since the beginning: nothing is ever
 * reset, so no rank can confuse the states of two steps. */
struct node_unit {             /* a shard of a group */
	_Alignas(64) _Atomic uint64_t claimed[2], finished[2];   /* pieces, by round */
	_Atomic uint64_t sent;     /* the start of the group whose sum over hosts the owner has */
};
struct node_post {             /* a group */
	_Alignas(64) _Atomic uint64_t arrived;       /* ranks, over all starts */
	_Atomic uint64_t done;                       /* shards, over all starts */
	/* For traces: the last rank to arrive at a start, and when (board_now), by odd and even starts,
	 * since a rank may be one start ahead of another; and when the latest was done. */
	_Atomic int64_t came_at[2], done_at;
	_Atomic int came[2];
};
struct node_rank {             /* for reports */
	_Alignas(64) _Atomic int last;               /* the group it started last, from 1 */
	_Atomic int64_t since;                       /* when; board_now */
	_Atomic int works_on[2];                     /* the group of which its thread, and its waiter, hold a
	                                              * piece; from 1 */
};
struct node_head {
	struct bell work;                /* a group's pieces can be claimed */
	struct bell news;                /* that, or a group is done */
	_Atomic int reporter;            /* the local rank that reports the error, from 1 */
};

struct node_share {            /* of a group, by shard; the same numbers on all ranks */
	int64_t first, n, piece;   /* elements */
	uint64_t pieces;
};

struct node {
	int me, n;                       /* local ranks */
	int groups, shards;
	int rounds;                      /* 2 with other hosts, else 1 */
	const struct reducer_group *group;
	struct node_share *share;        /* [group][shard] */
	uint64_t *whole;                 /* by group: shards that hold anything */
	/* shared */
	struct node_head *head;
	struct node_post *post;          /* by group */
	struct node_unit *unit;          /* [group][shard] */
	struct node_rank *rank;          /* by local rank */
	_Atomic uint64_t *started;       /* [rank][group] */
	char **block;                    /* by local rank */
	int64_t *began;                  /* by group: this rank's latest start, board_now */
	void **lane[2];                  /* for node_work, by enum node_caller: pointers by local rank */
};

enum node_caller { NODE_THREAD, NODE_WAITER };

/* Bytes of shared memory for what is beside the blocks, a multiple of a page. */
size_t node_bytes(int ranks, int groups, int shards);
/* memory: node_bytes of zeroes, then the ranks' blocks of block_bytes each, a multiple of a page.
 * Not collective. */
void node_init(struct node *d, void *memory, size_t block_bytes, int me, int ranks,
               const struct reducer_group *group, int groups, int hosts, int shards);
void node_release(struct node *d);

void node_arrive(struct node *d, int k);
uint64_t node_starts(const struct node *d, int rank, int k);   /* by a local rank */
uint64_t node_started(const struct node *d, int k);              /* by this one */
bool node_done(const struct node *d, int k);             /* the sum of this rank's latest start */
/* The times of this rank's latest start, which is done: when its last rank arrived, which rank of
 * this host that was, and when it was done. */
struct node_times {
	int64_t began, came, done;
	int last;
};
struct node_times node_times(const struct node *d, int k);
/* Does a piece of group k if there is one to claim. */
bool node_work(struct node *d, int k, enum node_caller who);
/* Two rounds: whether the first is done for shard s of this start of group k; and that the sum
 * over hosts of this rank's latest start stands in its block. */
bool node_summed(const struct node *d, int k, int s, uint64_t start);
void node_sent(struct node *d, int k, int s);

#endif
