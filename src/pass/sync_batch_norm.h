/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation over the batches of several ranks (parallel.sync_batch_norm): its nodes. */
#ifndef DLX_PASS_SYNC_BATCH_NORM_H
#define DLX_PASS_SYNC_BATCH_NORM_H

#include "graph/graph.h"

/* Every batch normalisation of the graph, and its gradient, becomes one of a group, or (not `all`)
 * those whose places are cut over ranks (pass/partition.h); share: the input that says whether this
 * rank's batch counts. Other nodes that sum over places get their groups. */
void sync_batch_norm_emit(struct graph *g, tid share, bool all);
/* All-reduces of batch statistics in a micro-batch, and their bytes. */
int sync_batch_norm_count(const struct graph *g, int64_t *bytes);
/* Values in the all-reduce of node n, for which node_meets. */
int64_t sync_batch_norm_values(const struct graph *g, const struct node *n);

#endif
