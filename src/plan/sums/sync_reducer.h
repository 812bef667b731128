/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory in which batch statistics are all-reduced (parallel.sync_batch_norm). */
#ifndef DLX_PLAN_SYNC_REDUCER_H
#define DLX_PLAN_SYNC_REDUCER_H

#include "plan/sums/reduction.h"

struct sync_reducer;
/* For a training plan that has such nodes: makes r->sums.statistics. Once for all training plans
 * of a run: those that follow must meet the other ranks in the same order. *s is NULL before the
 * first. Collective the first time. */
int sync_reducer_open(struct sync_reducer **s, struct reduction *r, const struct plan *p, int size);
/* Bytes of the GPU's memory that the sums of an open one take; 0 on a CPU, and for NULL. */
int64_t sync_reducer_bytes(const struct sync_reducer *s, const struct reduction *r);
/* The same for one plan, of any mode, whose nodes sum over the ranks of a team that have a sample
 * together: *sums is theirs; NULL: no node does. On a CPU. Collective over the team. */
int sync_reducer_open_plan(struct sync_reducer **s, struct reducer **sums, struct comm *team,
                           const struct plan *p);
void sync_reducer_close_plan(struct sync_reducer *s);    /* NULL is fine; collective */
/* The ranks of each of these sums; NULL for NULL. */
const struct comm *sync_reducer_team(const struct sync_reducer *s, const struct reduction *r);
/* Before reduction_close; NULL is fine; collective. */
void sync_reducer_close(struct sync_reducer *s, struct reduction *r);

#endif
