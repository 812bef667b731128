/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory in which a training plan's gradients are summed over all ranks. */
#ifndef DLX_PLAN_REDUCTION_H
#define DLX_PLAN_REDUCTION_H

#include "comm/reducer.h"
#include "plan/plan.h"
#include "plan/sums/rank_grid.h"

/* Whether a run with these ranks sums gradients: there are several. DLX_DEBUG=nccl_alone=yes,
 * for tests, has one rank sum with itself. */
bool reduction_wanted(const struct comm *c);

/* What a run sums over its ranks by. Plans depend on none of it: they are made before. */
struct reduction {
	const struct device *dev;    /* in whose memory */
	struct comm *comm;           /* whose ranks sum; NULL: nothing is summed */
	struct nccl *nccl;           /* what connects their GPUs; NULL: nothing does */
	struct links sums;       /* for exec_bind */
};

/* Before reduction_plan, for training: on GPUs begins to connect those of all ranks. Collective. */
int reduction_meet(struct reduction *r);

/* What training plans are to be made for: as config says, for the ranks of the grid, be they
 * there or imagined. What a device and its links are known to be decides, the same in all of
 * them; where r->comm has ranks on several hosts, or GPUs, sums are measured too, and links
 * that are not at all as known are corrected: collective. link: the caller's, which out borrows. */
int reduction_plan(struct ranks_plan *out, struct linkmodel *link, const struct run_config *c,
                   const struct reduction *r, const struct rank_grid *grid);

/* Once for all training plans of a run, which have the same buckets: makes the reducer, with room
 * for each bucket of p, and gives the states that are summed in place their memory. Before p's
 * states are in the store. Collective. Nothing to do if p sums nothing. */
int reduction_open(struct reduction *r, struct store *store, const struct plan *p);
/* Device memory that it will take for p, in addition to the states that are in it. */
int64_t reduction_bytes(const struct reduction *r, const struct plan *p);
/* All that sums take, whether or not they are open: the block, and on a GPU what it needs to sum
 * it. */
int64_t reduction_block(const struct reduction *r, const struct plan *p);
/* Waits for sums that are still under way, and brings them into p's states, which a checkpoint of
 * a lagging run has to. Collective in that all ranks began them. */
int reduction_flush(struct reduction *r, const struct store *store, const struct plan *p);
/* Behind reduction_flush, when the states have been copied and before another step: a GPU adds
 * lagged sums up once more, for which those of all ranks but one become nothing, also in p's
 * states. */
int reduction_keep(const struct reduction *r);
/* Seconds that this rank has waited for sums of steps so far. */
double reduction_waited(const struct reduction *r);
/* After p's states came from a checkpoint: what a lagging
 * run waits for in the next step is there. */
int reduction_resume(struct reduction *r, const struct store *store, const struct plan *p);
/* After the store is gone. */
void reduction_close(struct reduction *r);

#endif
