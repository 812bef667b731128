/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reducer of a run: the memory in which the gradients of training plans are summed over all
 * ranks. */
#ifndef DLX_PLAN_REDUCTION_H
#define DLX_PLAN_REDUCTION_H

#include "comm/reducer.h"
#include "plan/plan.h"
#include "plan/sums/rank_grid.h"

/* Whether a run with these ranks sums gradients: true for two or more ranks. For tests,
 * DLX_DEBUG=nccl_alone=yes or ranks=N makes it true for one rank too. */
bool reduction_wanted(const struct comm *c);

/* The means by which a run all-reduces. They are created after the plans, which do not depend on
 * them. */
struct reduction {
	const struct device *dev;    /* the device in whose memory the sums are */
	struct comm *comm;           /* the ranks that sum; NULL: nothing is summed, or only planned */
	int planned;                 /* with comm NULL: number of ranks whose sums are planned, without
	                              * these ranks; 0 or 1: nothing is summed */
	struct nccl *nccl;           /* connection between their GPUs; NULL: none */
	struct links sums;       /* the reducers that exec_bind takes */
};

/* On GPUs, begins to connect those of all ranks by NCCL. Call it before reduction_plan if the run
 * trains. Collective. */
int reduction_meet(struct reduction *r);

/* Fills *out, for which training plans are made, from the config and the ranks of the grid, which
 * may be running or only planned for. Rates and link costs are nominal values, equal on all ranks.
 * If r->comm has ranks on several hosts, or GPUs, a few all-reduces are measured as well, and a
 * link whose nominal cost is far off is corrected; this is collective. link: memory of the caller,
 * which *out borrows. */
int reduction_plan(struct ranks_plan *out, struct linkmodel *link, const struct run_config *c,
                   const struct reduction *r, const struct rank_grid *grid);

/* Creates the reducer with room for each bucket of p, and allocates the states that are summed in
 * place. Call it once for all training plans of a run, which have the same buckets, before p's
 * states are in the store. Does nothing if p sums nothing. Collective. */
int reduction_open(struct reduction *r, struct store *store, const struct plan *p);
/* Bytes of device memory that the reducer will need for p, without those that plan_memory_values
 * counts for states that are summed in place. The buckets of a CPU need a few bytes less than
 * these, since states are padded only where they have memory of their own: then the result is
 * negative. */
int64_t reduction_bytes(const struct reduction *r, const struct plan *p);
/* All bytes that the reducer needs for p, whether or not it exists yet: its buckets with the states
 * among them, and on a GPU the buffers for summing them. */
int64_t reduction_block(const struct reduction *r, const struct plan *p);
/* Waits for all-reduces in flight and stores their results in p's states. A run with gradient lag
 * must do this before a checkpoint. Every rank must call it, since all ranks began these
 * all-reduces. */
int reduction_flush(struct reduction *r, const struct store *store, const struct plan *p);
/* Call it after reduction_flush once the states have been copied, before the next step. On GPUs the
 * next step all-reduces the lagged sums again; so that they are not counted once per rank, this
 * sets them to zero on all ranks but one, in p's states too. */
int reduction_keep(const struct reduction *r);
/* Seconds that this rank has waited for sums of steps so far. */
double reduction_waited(const struct reduction *r);
/* Call it after p's states were loaded from a checkpoint: provides the lagged sums that the next
 * step waits for. */
int reduction_resume(struct reduction *r, const struct store *store, const struct plan *p);
/* Call it after the store was freed. */
void reduction_close(struct reduction *r);

#endif
