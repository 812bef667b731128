/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation by the batches of several ranks (parallel.sync_batch_norm): which ranks, which nodes, and
 * the memory of their sums. */
#ifndef DLX_TRAIN_STATISTICS_H
#define DLX_TRAIN_STATISTICS_H

#include "graph/pass.h"
#include "train/config.h"
#include "train/plan.h"

/* false: 1; true: 0, all ranks; 4: 4. E_CONFIG at the node. */
int statistics_parse(const struct ynode *n, int *team);
/* How many of so many ranks normalise as one: a divisor of their number, or E_CONFIG. One rank: 1. */
int statistics_team(const struct run_config *c, int ranks, int *team);

/* Every batch normalisation of the graph, and its gradient, becomes one of a team; share: the input that says
 * whether this rank's batch counts. */
int statistics_emit(struct graph *g, tid share);

struct statistics;
/* For a training plan that has such nodes: makes dev->statistics. Once for all training plans of a run: those that
 * follow must meet the other ranks in the same order. *s is NULL before the first. Collective the first time. */
int statistics_open(struct statistics **s, struct device *dev, const struct plan *p, int team);
void statistics_close(struct statistics *s, struct device *dev);     /* NULL is fine; collective */

/* Bytes of the GPU's memory that the sums of open statistics take; 0 on a CPU, and for NULL. */
int64_t statistics_bytes(const struct statistics *s, const struct device *dev);

/* Messages of a micro-batch, and their bytes. */
int statistics_count(const struct graph *g, int64_t *bytes);

#endif
