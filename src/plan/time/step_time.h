/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The predicted time of a step. Nodes run one after the other in the order of the schedule. The
 * all-reduces also run one after the other, concurrently with the nodes, with the times of the link
 * model; so do the messages of parallel.spatial. The time that nodes wait for unfinished
 * all-reduces and messages is called exposed. With a described cluster (session.cluster) they go
 * over its links, and a step takes as long as its slowest rank. All predicted times that dlx prints
 * come from here. */
#ifndef DLX_PLAN_STEP_TIME_H
#define DLX_PLAN_STEP_TIME_H

#include "plan/session.h"
#include "plan/time/trials.h"

struct step_time {
	double *node;                /* seconds of each node of the plan */
	struct trials trials;
	struct node_rates ceilings;  /* peak rates of the device; all 0: unknown, and no other member is
	                              * set */
	double phase[PHASE_COUNT];   /* seconds of each phase of a step, over all its micro-batches */
	double products;             /* seconds of these in convolutions and dense layers */
	double exposed;              /* seconds of waiting for all-reduces and messages */
	double statistics;           /* seconds of `exposed` in which batch normalisation waits */
	double slowest;              /* seconds of `exposed` in which a typical rank waits for the
	                              * slowest one to begin: the expected largest of as many draws as
	                              * there are ranks */
	double messages, sending;    /* seconds of `exposed` of waiting for messages; seconds that a
	                              * step's messages take on their links, waited for or not */
	double seconds;              /* seconds of the step: the phases and `exposed` */
	double low, high;            /* the 5th and the 95th percentile of `seconds` over steps */
	struct linkmodel link;       /* the links by which sums were predicted */
	const char *source;          /* where the times of nodes are from: "trials", "the profile
	                              * run.json", ... */
	double backward;             /* seconds of the backward phase of one micro-batch */
	double *ready, *done;        /* for each bucket of gradients, seconds from the begin of the last
	                              * micro-batch's backward phase to when it is complete, and to the
	                              * end of its all-reduce */
	int buckets;
};

int step_time_predict(struct step_time *t, const struct session *s, const struct plan *p);
void step_time_release(struct step_time *t);
/* Makes the kernels of p, which is bound, take their predicted times and no processor
 * (DLX_DEBUG=sleep). */
int step_time_sleep(const struct session *s, const struct plan *p);

/* Whether the rates of the device are known, without which nothing is predicted. */
bool step_time_known(const struct step_time *t);

/* Steps of an epoch; 0: not known, since the data is not open. */
int64_t step_time_epoch(const struct session *s);
/* Steps to the end of train.epochs or train.steps, whichever comes first; 0: not known. */
int64_t step_time_steps(const struct session *s);

#endif
