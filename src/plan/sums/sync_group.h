/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which ranks normalise a batch together (parallel.sync_batch_norm). */
#ifndef DLX_PLAN_SYNC_GROUP_H
#define DLX_PLAN_SYNC_GROUP_H

#include "plan/config.h"

/* false: 1; true: 0, all ranks; 4: 4. E_CONFIG at the node. */
int sync_group_parse(const struct ynode *n, int *size);
/* How many of this many ranks normalise as one: a divisor of
 * their number, or E_CONFIG. One rank: 1. */
int sync_group_size(const struct run_config *c, int ranks, int *size);

#endif
