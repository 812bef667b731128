/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the time of a step goes, and how much of it could be had back: each node has a roofline,
 * the time that its arithmetic takes at the rate the device was just measured to reach, or its in-
 * and outputs once through memory, whichever is longer. What a node takes beyond that is lost time,
 * and tables are sorted by it. */
#ifndef DLX_PLAN_PROFILE_H
#define DLX_PLAN_PROFILE_H

#include <stdio.h>

#include "backend/node_time.h"
#include "plan/plan.h"

struct profile {
	double step;                        /* wall time of a step with timers; of replays, from the
	                                     * first kernel to the end of the last */
	double nodes;                       /* the sum over nodes */
	double between;                     /* in which no node ran */
	double phase[PHASE_COUNT];
	double *seconds;                    /* by node id */
	struct replay replay;               /* on a GPU with a profiler; else zeroed */
	char why_not[300];                  /* there is none; "": none is needed */
};

/* Runs p `runs` times with timers around each node. The first run is not counted. */
int profile_run(struct plan *p, int runs, struct profile *out);
/* On a GPU, after exec_watch_begin: replays the step `runs` times, watched by the profiler. Where
 * none was begun or it saw nothing, the replay stays zeroed. */
int profile_replays(struct plan *p, int runs, struct profile *out);
void profile_release(struct profile *f);         /* a zeroed one is fine */

/* Tables as text: the device's ceilings r, totals, op kinds, the nodes that lose most, and the
 * kernels that take most. */
void profile_text(const struct plan *p, const struct node_rates *r, const struct profile *f,
                  struct buf *out);
/* The same of all nodes and kernels, as one JSON object. */
void profile_json(const struct plan *p, const struct node_rates *r, const struct profile *f,
                  struct buf *out);

#endif
