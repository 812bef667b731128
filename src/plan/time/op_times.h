/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measured times of the nodes of a step, taken from one plan and used for another plan of the same
 * network: a plan for more ranks has a few more nodes. A node is found again by its op and its
 * name, and by its order among nodes with the same two. */
#ifndef DLX_PLAN_OP_TIMES_H
#define DLX_PLAN_OP_TIMES_H

#include "plan/plan.h"

struct op_times {
	const char *source;          /* for people: "the profile run.json" */
	int64_t batch;               /* samples of a rank */
	int n;
	struct op_time {
		const char *op, *name;
		double seconds;
	} *node;
};

/* Reads the line of "dlx-train --bench --profile", of one rank; memory is in arena a. Timers around
 * nodes cost time, and there is time between nodes: the times are scaled so that they sum to the
 * median step without timers. E_DATA with the reason, E_NOINPUT. */
int op_times_read(const struct op_times **out, struct arena *a, const char *path);
/* The times of p's nodes; memory is in arena a. */
const struct op_times *op_times_take(struct arena *a, const struct plan *p, const double *seconds,
                                     const char *source);
/* Sets seconds[i] of each node of p that is found in t, and 0 for other nodes. seconds[] has
 * estimates, which nodes at sums over ranks keep, in the proportion in which the update's times
 * differ from its estimates. E_DATA if p has another batch, or nodes with a tenth of t's time are
 * not in p: t is of another network. */
int op_times_apply(const struct op_times *t, const struct plan *p, double *seconds);

#endif
