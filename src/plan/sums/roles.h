/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training plans of ranks that sum gradients, and whose graphs differ: each has another part of a
 * sample. What they must have in common then does not follow from equal graphs: the layouts of
 * parameters and states, of which sums add what is stored; the buckets of gradients; the order of
 * updates. Those of rank 0 are those of all. */
#ifndef DLX_PLAN_ROLES_H
#define DLX_PLAN_ROLES_H

#include "plan/plan.h"

struct roles {
	struct store *layouts;           /* for plan_request.store; roles_release frees it */
	const struct buckets *buckets;   /* for ranks_plan.given */
	bool differ;                     /* the plan of some rank has others: all are to be made again,
	                                  * by these */
};

/* Of the first training plans of all ranks of c; p is changed, and not to be run where they differ.
 * *out: in a. E_BUG on all ranks where some parameter or state is not on all. Collective. */
int roles_share(struct roles *out, struct arena *a, struct comm *c, const struct device *dev,
                const struct plan *p);
void roles_release(struct roles *r);

/* A number that is the same on all ranks that sum gradients by plans like p: of what is stored how,
 * and of the sums. The graph before it is cut follows from the config and the data. */
uint64_t roles_fingerprint(const struct plan *p);

#endif
