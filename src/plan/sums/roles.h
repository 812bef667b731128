/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training plans of ranks whose graphs differ, since each rank computes another part of a sample,
 * but which all-reduce gradients together. All-reduces require equal layouts of parameters and
 * states, equal buckets of gradients and an equal order of updates. As the graphs differ, these are
 * not equal by themselves: all ranks use those of rank 0. */
#ifndef DLX_PLAN_ROLES_H
#define DLX_PLAN_ROLES_H

#include "plan/plan.h"

struct roles {
	struct store *layouts;           /* layouts of rank 0's parameters and states, for
	                                  * plan_request.store; freed by roles_release */
	const struct buckets *buckets;   /* rank 0's buckets, for ranks_plan.given */
	bool differ;                     /* the plan of some rank has other layouts or buckets, so all
	                                  * plans must be made again with these */
};

/* Broadcasts the layouts and buckets of rank 0's first training plan to all ranks of c. p is this
 * rank's first plan; it is changed, and must not be run if out->differ. The contents of *out are in
 * arena a. E_BUG on all ranks if a parameter or state is missing on one. Collective. */
int roles_share(struct roles *out, struct arena *a, struct comm *c, const struct device *dev,
                const struct plan *p);
void roles_release(struct roles *r);

/* A fingerprint of p's stored tensors, their layouts, and its all-reduces, which must be equal on
 * all ranks that sum gradients together. It does not cover the network itself, which follows from
 * the config and the data. */
uint64_t roles_fingerprint(const struct plan *p);

#endif
