/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A reducer (comm/reducer.h) whose block is in GPU memory and whose all-reduces are made by NCCL on
 * a separate stream. Start and wait synchronise that stream with the compute stream by events and
 * return at once, so that graph capture includes them. Errors are detected when the host waits for
 * the GPU, and reported like those of a reducer in host memory. Sums have the type of the bucket
 * and an order that NCCL chooses by size and number of ranks, the same bits every time on the same
 * machine; buckets that are `ordered` are added in the order of comm/sum.h.
 *
 * A lagged bucket (waited for one step after its start) is all-reduced at the beginning of the next
 * step and overlaps its forward part, since a captured step ends with all its work.
 *
 * All-reduces of batch statistics, for which computation waits, run in the compute stream by a
 * second communicator. */
#ifndef DLX_COMM_REDUCER_NCCL_H
#define DLX_COMM_REDUCER_NCCL_H

#include "comm/reducer.h"

struct device;
struct reducer_nccl;

/* As reducer_new_gpu. */
int reducer_nccl_new(struct reducer_nccl **out, const struct reducer_place *where, size_t bytes,
                     const struct reducer_bucket *bucket, int n);

/* Bytes of GPU memory in addition to the block, for sums with a fixed order. */
size_t reducer_nccl_scratch(const struct reducer_bucket *bucket, int n, int ranks);
/* Bytes of GPU memory in all for a reducer with a block of `block` bytes. */
#define REDUCER_NCCL_SLACK 64
static inline size_t reducer_nccl_bytes(size_t block, const struct reducer_bucket *bucket, int n,
                                        int ranks)
{
	return block + REDUCER_NCCL_SLACK + reducer_nccl_scratch(bucket, n, ranks);
}

/* A reducer that marks messages of nodes, not sums: each has a bucket of no elements. In place of
 * reducer_nccl_start and _wait: enqueues such messages by `enqueue` in the compute stream, so that
 * the host sees when they have begun and are complete, and reports if they do not. */
int reducer_nccl_new_marks(struct reducer_nccl **out, const struct reducer_place *where,
                           const struct reducer_bucket *bucket, int n);
int reducer_nccl_mark(struct reducer_nccl *r, int k, int (*enqueue)(void *argument, void *stream),
                      void *argument, int64_t bytes);
/* The functions of reducer.h for a reducer that reducer_new_gpu made. */
void reducer_nccl_free(struct reducer_nccl *r);
bool reducer_nccl_under_way(const struct reducer_nccl *r, int k);
void *reducer_nccl_memory(const struct reducer_nccl *r);
void reducer_nccl_start(struct reducer_nccl *r, int k);
int reducer_nccl_wait(struct reducer_nccl *r, int k);
int reducer_nccl_keep(struct reducer_nccl *r);
struct reducer_stats reducer_nccl_stats(const struct reducer_nccl *r);

#endif
