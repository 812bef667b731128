/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-reduces between hosts by MPI, of shards that are already summed within each host. Each local
 * rank all-reduces its shard with the ranks of the same local number on the other hosts; if hosts
 * have unequal numbers of ranks, only the first rank of each host takes part. At most one
 * all-reduce of a bucket is in flight. */
#ifndef DLX_COMM_ACROSS_H
#define DLX_COMM_ACROSS_H

#include "comm/reducer.h"

struct across;

/* The number of shards into which a host's ranks divide
 * each bucket: the number of ranks, or 1. Collective. */
int across_shards(struct comm *c);
/* Collective. most: by bucket, the number of elements of this rank's shard, for the sizes of
 * buffers. *out is NULL if this rank takes no part. bucket: gives the types, and whether the order
 * of the sum is fixed. */
int across_new(struct across **out, struct comm *c, const int64_t *most,
               const struct reducer_bucket *bucket, int buckets, int shards);
void across_free(struct across *a);      /* NULL is fine; collective */

/* Begins the sum of bucket k, in place. All ranks must start buckets in the same order. */
void across_start(struct across *a, int k, void *p, int64_t n);
/* Whether the sum of bucket k is done; makes progress. Must not be called again after it returned
 * true. */
bool across_test(struct across *a, int k);

#endif
