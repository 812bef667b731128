/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums between hosts, of shards that are sums of a host already: each local rank with those of its
 * number, or the first of each host alone where hosts have unequal counts. By MPI, one sum a group
 * under way at a time. */
#ifndef DLX_COMM_ACROSS_H
#define DLX_COMM_ACROSS_H

#include "base/types.h"
#include "comm/reducer.h"

struct across;

/* Into how many shards a host's ranks divide each group: their number, or 1. Collective. */
int across_shards(struct comm *c);
/* Collective. most: elements of this rank's shard by group, for buffers; NULL in *out where this
 * rank takes no part. group: their types, and whether they are ordered. */
int across_new(struct across **out, struct comm *c, const int64_t *most,
               const struct reducer_group *group, int groups, int shards);
void across_free(struct across *a);      /* NULL is fine; collective */

/* Begins the sum of group k, in place; groups in the same order everywhere. */
void across_start(struct across *a, int k, void *p, int64_t n);
/* Whether it is done; moves it on. Not after it was. */
bool across_test(struct across *a, int k);

#endif
