/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches that are copied to a device in their stored form: emits the nodes that transform them to
 * what the network and the loss read. data/transform_stored.c decides which transforms are left to
 * these nodes. */
#ifndef DLX_PLAN_STORED_BATCH_H
#define DLX_PLAN_STORED_BATCH_H

#include "plan/plan.h"

/* Whether the loader for this device leaves to the graph whatever transforms it can. */
bool stored_batch_wanted(const struct device *dev);
/* Emits the transforms that the loader of r's data leaves to the graph; without any, *out is the
 * input (target) itself. */
int stored_batch_input(struct graph *g, const struct plan_request *r, tid input, tid *out);
int stored_batch_target(struct graph *g, const struct plan_request *r, tid target, tid *out);
/* Appends a line for --check and --plan if the plan has such transforms. */
void stored_batch_describe(const struct plan *p, struct buf *out);

#endif
