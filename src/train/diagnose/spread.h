/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The differences in speed between the ranks of a run. In a step all ranks take the time of the
 * slowest; they differ in their own work, which is the step less the time spent waiting for
 * all-reduces. The numbers come from one gather between two steps. */
#ifndef DLX_TRAIN_SPREAD_H
#define DLX_TRAIN_SPREAD_H

#include "base/buf.h"
#include "comm/comm.h"

struct spread {
	int ranks;                     /* number of ranks; 0: nothing is known */
	double step;                   /* seconds of a step: the mean over the ranks */
	double least, median, most;    /* seconds of own work in a step: minimum, median and maximum
	                                * over the ranks */
	int slowest;                   /* the rank with the most own work */
	char host[64];                 /* its host */
	double exposed;                /* share of a step in which a rank waits for others: the mean
	                                * over the ranks */
};

/* step: the duration of this rank's step; waited: the part
 * spent waiting for all-reduces. Collective. */
void spread_gather(struct spread *s, struct comm *c, double step, double waited);
/* ", "step_seconds": ... , "slowest_host": "c1"": the members, each after a comma */
void spread_json(const struct spread *s, struct buf *out);

#endif
