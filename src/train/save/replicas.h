/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every rank holds the whole network and the optimizer's whole state. The copies stay equal because
 * all ranks begin with those of rank 0, and equal sums of gradients give equal updates. Only
 * running statistics differ, since each rank computes them from its own samples. All functions are
 * collective, and do nothing if the struct comm is NULL or has one rank. */
#ifndef DLX_TRAIN_REPLICAS_H
#define DLX_TRAIN_REPLICAS_H

#include "backend/store.h"
#include "comm/comm.h"

/* Broadcasts the values of rank 0, or of rank `root`, to all ranks, for example after it loaded a
 * checkpoint. */
int replicas_begin(struct comm *c, struct store *s);
int replicas_begin_from(struct comm *c, struct store *s, int root);
/* Makes running statistics equal on all ranks, before a validation or a checkpoint: to the mean
 * over the ranks if `average`, else to those of rank 0. */
int replicas_average(struct comm *c, struct store *s, bool average);
/* E_BUG on all ranks if a parameter differs in any bit between ranks. The error names the first
 * such parameter and the ranks that differ. */
int replicas_compare(struct comm *c, const struct store *s);

#endif
