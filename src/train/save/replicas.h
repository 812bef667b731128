/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every rank holds the whole network and the optimizer's whole state. The copies stay equal because
 * all ranks begin with those of rank 0, and equal sums of gradients give equal updates. Only
 * running statistics differ, since each rank computes them from its own samples. All functions are
 * collective, and do nothing where comm is NULL or has one rank. */
#ifndef DLX_TRAIN_REPLICAS_H
#define DLX_TRAIN_REPLICAS_H

#include "backend/store.h"
#include "comm/comm.h"

/* Gives all ranks the values of rank 0, or of rank `root`, as after a checkpoint was loaded
 * there. */
int replicas_begin(struct comm *c, struct store *s);
int replicas_begin_from(struct comm *c, struct store *s, int root);
/* Gives all ranks one set of running statistics, before a
 * validation or a checkpoint: rank 0's, or the mean of all. */
int replicas_average(struct comm *c, struct store *s, bool average);
/* E_BUG, on all ranks, if a parameter has not the same bits everywhere; names the first such
 * parameter and the ranks that differ. */
int replicas_compare(struct comm *c, const struct store *s);

#endif
