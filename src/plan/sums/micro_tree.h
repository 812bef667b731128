/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs that give the same bits on any number of ranks (parallel.reproducible; the sums are in
 * plan/sums/micro_sums.h). A step's samples, in their order, are divided into micro-batches of
 * train.batch_size samples, the leaves of a binary tree. Each rank has one branch: a power of two
 * of neighbouring leaves, or all leaves. The gradients, statistics and random numbers of a leaf
 * depend on that leaf alone. */
#ifndef DLX_PLAN_MICRO_TREE_H
#define DLX_PLAN_MICRO_TREE_H

#include "backend/device.h"
#include "comm/comm.h"
#include "plan/config.h"

/* Checks the config, without device and ranks. E_CONFIG. */
int micro_tree_check(const struct run_config *c);
/* Sets c->micros. E_CONFIG, with the possible numbers of ranks, if `ranks` ranks cannot share the
 * tree. */
int micro_tree_share(struct run_config *c, int ranks);
/* Checks that the device, and the number of ranks on each host, allow reproducible sums. */
int micro_tree_check_ranks(const struct run_config *c, const struct device *dev,
                           const struct comm *comm);
/* The number of this rank's branch. Ranks of one host have neighbouring branches, since sums within
 * a host are computed first. */
int micro_tree_place(const struct run_config *c, const struct device *dev, const struct comm *comm);

#endif
