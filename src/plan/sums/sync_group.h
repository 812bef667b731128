/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The groups of ranks that compute batch statistics together (parallel.sync_batch_norm). */
#ifndef DLX_PLAN_SYNC_GROUP_H
#define DLX_PLAN_SYNC_GROUP_H

#include "plan/config.h"

/* Parses the config's value into the ranks of a group: false gives 1, true gives 0 (all ranks), and
 * a number gives itself. E_CONFIG at the node. */
int sync_group_parse(const struct ynode *n, int *size);
/* Sets *size to the number of ranks that normalise together, for a run of `ranks` ranks (1 for one
 * rank), of which `parts` share each sample: then at least these. E_CONFIG if it does not divide
 * `ranks`, or is no multiple of `parts`. */
int sync_group_size(const struct run_config *c, int ranks, int parts, int *size);

#endif
