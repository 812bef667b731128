/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs with the same bits on any number of ranks (parallel.reproducible; the sums:
 * plan/sums/micro_sums.h). A step's samples, in their order, are cut into micro-batches of
 * train.batch_size, the leaves of a tree; each rank has a branch of it: neighbouring leaves, a
 * power of two of them, or all. What a leaf's gradients, statistics and random numbers are depends
 * on the leaf alone. */
#ifndef DLX_PLAN_MICRO_TREE_H
#define DLX_PLAN_MICRO_TREE_H

#include "backend/device.h"
#include "comm/comm.h"
#include "plan/config.h"

/* Checks the config alone; E_CONFIG. */
int micro_tree_check(const struct run_config *c);
/* Sets c->micros; E_CONFIG, with the possible numbers, if `ranks` ranks cannot share the tree. */
int micro_tree_share(struct run_config *c, int ranks);
/* Checks what leaves need of the device and the places of the ranks. */
int micro_tree_check_ranks(const struct run_config *c, const struct device *dev,
                           const struct comm *comm);
/* The branch of this rank: ranks of a host have neighbouring
 * ones, since sums within a host are made first. */
int micro_tree_place(const struct run_config *c, const struct device *dev, const struct comm *comm);

#endif
