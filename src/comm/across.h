/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-reduces between hosts, of shards that are already sums of a host: each local rank with the
 * ranks of the same local number, or only the first rank of each host where hosts have unequal
 * counts. By MPI; one all-reduce of a bucket is in flight at a time. */
#ifndef DLX_COMM_ACROSS_H
#define DLX_COMM_ACROSS_H

#include "comm/reducer.h"

struct across;

/* The number of shards into which a host's ranks divide
 * each bucket: the number of ranks, or 1. Collective. */
int across_shards(struct comm *c);
/* Collective. most: elements of this rank's shard by bucket, for buffers; NULL in *out where this
 * rank takes no part. bucket: their types, and whether they are ordered. */
int across_new(struct across **out, struct comm *c, const int64_t *most,
               const struct reducer_bucket *bucket, int buckets, int shards);
void across_free(struct across *a);      /* NULL is fine; collective */

/* Begins the sum of bucket k, in place; buckets in the same order everywhere. */
void across_start(struct across *a, int k, void *p, int64_t n);
/* Whether it is done; makes progress. Must not be called after it was true. */
bool across_test(struct across *a, int k);

#endif
