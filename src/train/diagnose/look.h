/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Looks at the outputs of every node of a step for values that are not finite, and keeps the first:
 * as nodes run in the order of what they need, that is where they come from. */
#ifndef DLX_TRAIN_LOOK_H
#define DLX_TRAIN_LOOK_H

#include "plan/session.h"
#include "train/diagnose/finding.h"
#include "train/diagnose/kernel_check.h"

struct look {
	const struct session *s;
	const struct plan *plan;       /* of the micro-batch at hand, and */
	const struct batch *batch;
	int64_t micro;
	struct overwritten before;     /* of the node that runs */
	bool *from_target;             /* by tensor of the plan: made of the target alone */
	struct finding found;
};

/* Of one step; look_end also where it failed. */
void look_begin(struct look *k, const struct session *s);
void look_end(struct look *k);
/* The micro-batch that runs next, with what it was fed. */
void look_batch(struct look *k, const struct plan *p, const struct batch *b, int64_t micro);
/* Runs these phases of p (exec_run) and looks. */
int look_run(struct look *k, const struct plan *p, unsigned phases);
/* What was found first on any rank, on all of them. Collective. */
void look_share(struct look *k);

#endif
