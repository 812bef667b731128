/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Searches the outputs of every node of a step for values that are not finite, and keeps the first
 * finding. As nodes run after those that compute their inputs, the first finding is the origin of
 * all. */
#ifndef DLX_TRAIN_LOOK_H
#define DLX_TRAIN_LOOK_H

#include "plan/session.h"
#include "train/diagnose/finding.h"
#include "train/diagnose/kernel_check.h"

struct look {
	const struct session *s;
	const struct plan *plan;       /* plan of the present micro-batch */
	const struct batch *batch;
	int64_t micro;
	struct overwritten before;     /* copy of an input that the running node overwrites */
	bool *from_target;             /* for each tensor of the plan: computed from the target only */
	struct finding found;
};

/* Begin and end the search in one step. look_end must be called even if the step failed. */
void look_begin(struct look *k, const struct session *s);
void look_end(struct look *k);
/* Sets the micro-batch that runs next, and the batch with which its plan was fed. */
void look_batch(struct look *k, const struct plan *p, const struct batch *b, int64_t micro);
/* Runs these phases of p (exec_run) and searches their outputs. */
int look_run(struct look *k, const struct plan *p, unsigned phases);
/* Broadcasts the first finding of any rank to all ranks. Collective. */
void look_share(struct look *k);

#endif
