/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the ranks of a run differ. All ranks take the time of the slowest for
 * a step; what differs is each rank's own work, the step less the time spent
 * waiting for all-reduces. One collective gather between two steps. */
#ifndef DLX_TRAIN_SPREAD_H
#define DLX_TRAIN_SPREAD_H

#include "base/buf.h"
#include "comm/comm.h"

struct spread {
	int ranks;                     /* 0: nothing is known */
	double step;                   /* seconds: the mean of the ranks' steps */
	double least, median, most;    /* seconds of their own work in a step */
	int slowest;                   /* the rank of the most */
	char host[64];                 /* and where it is */
	double exposed;                /* share of a step in which a rank waits for
	                                * others: the mean of the ranks */
};

/* step: the duration of this rank's step; waited: the part
 * spent waiting for all-reduces. Collective. */
void spread_gather(struct spread *s, struct comm *c, double step, double waited);
/* ", "step_seconds": ... , "slowest_host": "c1"": the members, each after a comma */
void spread_json(const struct spread *s, struct buf *out);

#endif
