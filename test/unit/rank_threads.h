/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that are threads of this process, with a reducer between them. */
#ifndef DLX_TEST_RANK_THREADS_H
#define DLX_TEST_RANK_THREADS_H

#include "comm/reducer.h"

/* Calls work(reducer, rank, arg) for each of this many ranks, in a thread of its own, with a
 * reducer of `bytes` and these groups. Fails the test if one does not return 0. */
void rank_threads(int ranks, size_t bytes, const struct reducer_bucket *group, int groups,
                  int (*work)(struct reducer *r, int rank, void *arg), void *arg);

#endif
