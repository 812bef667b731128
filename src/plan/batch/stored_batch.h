/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches that travel to a device as they are stored: the nodes that make of them what the network
 * and the loss read. What is left to do is the data's to say (data/transform_stored.c). */
#ifndef DLX_PLAN_STORED_BATCH_H
#define DLX_PLAN_STORED_BATCH_H

#include "plan/plan.h"

/* Whether the loader for this device leaves to the graph whatever transforms it can. */
bool stored_batch_wanted(const struct device *dev);
/* Emits the transforms that the loader of r's data leaves to the graph; without any, *out is the
 * input (target) itself. */
int stored_batch_input(struct graph *g, const struct plan_request *r, tid input, tid *out);
int stored_batch_target(struct graph *g, const struct plan_request *r, tid target, tid *out);
/* A line for --check and --plan, where there is something to say. */
void stored_batch_describe(const struct plan *p, struct buf *out);

#endif
