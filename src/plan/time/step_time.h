/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The predicted step: nodes one after the other as they are scheduled, and next to them the sums
 * over ranks, one after the other too, by the link model. What a node waits for that is not done
 * is exposed. All predicted seconds that are printed come from here. */
#ifndef DLX_PLAN_STEP_TIME_H
#define DLX_PLAN_STEP_TIME_H

#include "plan/session.h"
#include "plan/time/trials.h"

struct step_time {
	double *node;                /* seconds of each node of the plan */
	struct trials trials;
	struct node_rates ceilings;  /* of the device; all 0: nothing is known,
	                              * and nothing else here is set */
	double phase[PHASE_COUNT];   /* of a step: all its micro-batches */
	double products;             /* of these: convolutions and dense layers */
	double exposed;              /* waiting for sums, */
	double statistics;           /* of that for those of batch normalisation */
	double seconds;              /* the step: phases and what is exposed */
	double backward;             /* of one micro-batch; from its begin in the last one: */
	double *ready, *done;        /* of each bucket of gradients */
	int buckets;
};

int step_time_predict(struct step_time *t, const struct session *s, const struct plan *p);
void step_time_release(struct step_time *t);

/* Whether there are rates to predict by. */
bool step_time_known(const struct step_time *t);

/* Steps of an epoch; 0: without the data it is not known. */
int64_t step_time_epoch(const struct session *s);
/* Steps to the end of train.epochs or train.steps, whichever comes first; 0: not known. */
int64_t step_time_steps(const struct session *s);

#endif
