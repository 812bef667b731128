/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A reducer (comm/reducer.h) whose block is in a GPU's memory and whose sums NCCL makes, on a
 * stream of their own. Start and wait order that stream and the one of computation and return at
 * once, so they can be recorded with the step; what goes wrong is found where the host waits for
 * the GPU, and reported as that of a reducer in the host's memory. Sums are made in the type of the
 * group, in an order that NCCL chooses by size and number of ranks, the same bits every time on the
 * same machine; those of groups that are `ordered` in that of comm/sum.h.
 *
 * A group that is waited for a step after it was started (a lag) is summed at the beginning of the
 * next step, beside its forward
 * part: a step that was recorded ends with all its work.
 *
 * Sums that computation waits for where they stand (batch statistics) are work of the stream of
 * computation, by a communicator of their own. */
#ifndef DLX_COMM_REDUCER_NCCL_H
#define DLX_COMM_REDUCER_NCCL_H

#include "comm/reducer.h"

struct device;
struct reducer_nccl;

/* As reducer_new_gpu. */
int reducer_nccl_new(struct reducer_nccl **out, const struct reducer_place *where, size_t bytes, const struct reducer_group *group,
                     int n);

/* Bytes that it takes of the GPU's memory besides the block, to sum in an order. */
size_t reducer_nccl_scratch(const struct reducer_group *group, int n, int ranks);
/* Bytes that one with a block of so many takes altogether. */
#define REDUCER_NCCL_SLACK 64
static inline size_t reducer_nccl_bytes(size_t block, const struct reducer_group *group, int n, int ranks)
{
	return block + REDUCER_NCCL_SLACK + reducer_nccl_scratch(group, n, ranks);
}

/* What reducer.h has, which calls these for a reducer that reducer_new_gpu made. */
void reducer_nccl_free(struct reducer_nccl *r);
bool reducer_nccl_under_way(const struct reducer_nccl *r, int k);
void *reducer_nccl_memory(const struct reducer_nccl *r);
void reducer_nccl_start(struct reducer_nccl *r, int k);
int reducer_nccl_wait(struct reducer_nccl *r, int k);
int reducer_nccl_keep(struct reducer_nccl *r);
struct reducer_stats reducer_nccl_stats(const struct reducer_nccl *r);

#endif
