/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reducer of batch statistics: the memory in which they are all-reduced
 * (parallel.sync_batch_norm). */
#ifndef DLX_PLAN_SYNC_REDUCER_H
#define DLX_PLAN_SYNC_REDUCER_H

#include "plan/sums/reduction.h"

struct sync_reducer;
/* Creates r->sums.statistics for a training plan that all-reduces batch statistics. All training
 * plans of a run share it, so later ones must have their all-reduces in the same order. *s is NULL
 * before the first call, which is collective. */
int sync_reducer_open(struct sync_reducer **s, struct reduction *r, const struct plan *p, int size);
/* Bytes of the GPU's memory that the sums of an open one take; 0 on a CPU, and for NULL. */
int64_t sync_reducer_bytes(const struct sync_reducer *s, const struct reduction *r);
/* Creates the reducer of one plan, of any mode, whose nodes sum over the ranks of where->comm that
 * share one sample. *sums is that reducer, or NULL if no node of the plan sums. Collective over the
 * team. */
int sync_reducer_open_plan(struct sync_reducer **s, struct reducer **sums,
                           const struct reducer_place *where, const struct plan *p);
/* Bytes of the GPU's memory that such a reducer takes for p; 0 on a CPU. */
int64_t sync_reducer_plan_bytes(const struct plan *p, const struct device *dev, int ranks);
void sync_reducer_close_plan(struct sync_reducer *s);    /* NULL is fine; collective */
/* The ranks over which statistics are summed; NULL if s is NULL. */
const struct comm *sync_reducer_team(const struct sync_reducer *s, const struct reduction *r);
/* Before reduction_close; NULL is fine; collective. */
void sync_reducer_close(struct sync_reducer *s, struct reduction *r);

#endif
