/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation over the batches of several ranks (parallel.sync_batch_norm): its nodes. */
#ifndef DLX_PASS_SYNC_BATCH_NORM_H
#define DLX_PASS_SYNC_BATCH_NORM_H

#include "graph/graph.h"

/* Changes every batch normalisation of the graph, and its gradient, into one over a group of ranks;
 * with `all` false only those whose positions are partitioned over ranks (pass/partition.h). share:
 * the input that says whether this rank's batch counts. Other nodes that sum over positions get
 * their groups. */
void sync_batch_norm_emit(struct graph *g, tid share, bool all);
/* The number of all-reduces of batch statistics in a micro-batch, and their bytes. */
int sync_batch_norm_count(const struct graph *g, int64_t *bytes);
/* The number of values in the all-reduce of node n, for node_meets. */
int64_t sync_batch_norm_values(const struct graph *g, const struct node *n);

#endif
