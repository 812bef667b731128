/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The profile of a step: the time of each node, and how much of it could be saved. The roofline of
 * a node is the larger of two times: its arithmetic at the measured peak rate of the device, and
 * one pass of its inputs and outputs through memory at the measured bandwidth. Time beyond the
 * roofline is lost time, by which the tables are sorted. */
#ifndef DLX_PLAN_PROFILE_H
#define DLX_PLAN_PROFILE_H

#include <stdio.h>

#include "backend/node_time.h"
#include "plan/plan.h"

struct profile {
	double step;                        /* seconds of a step with timers; on a GPU with a profiler,
	                                     * from the first kernel's begin to the last one's end */
	double nodes;                       /* seconds, summed over nodes */
	double between;                     /* seconds in which no node ran */
	double phase[PHASE_COUNT];
	double *seconds;                    /* seconds of each node, by node id */
	struct replay replay;               /* the profiled kernels, on a GPU with a profiler; else
	                                     * zeroed */
	char why_not[300];                  /* why there is no such replay; "": none is needed */
};

/* Runs p `runs` times with timers around each node. The first run is not counted. */
int profile_run(struct plan *p, int runs, struct profile *out);
/* On a GPU, after exec_watch_begin: launches the captured step `runs` times under the profiler. If
 * the profiler was not started or recorded nothing, out->replay stays zeroed. */
int profile_replays(struct plan *p, int runs, struct profile *out);
void profile_release(struct profile *f);         /* a zeroed one is fine */

/* Appends tables: the device's peak rates r, totals, kinds of ops, the nodes that lose most time,
 * and the kernels that take most. */
void profile_text(const struct plan *p, const struct node_rates *r, const struct profile *f,
                  struct buf *out);
/* The same of all nodes and kernels, as one JSON object. */
void profile_json(const struct plan *p, const struct node_rates *r, const struct profile *f,
                  struct buf *out);

#endif
