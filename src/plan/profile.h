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
	double step;                        /* wall time of a step with timers */
	double nodes;                       /* the sum over nodes */
	double phase[PHASE_COUNT];
};

/* Runs p `runs` times with timers; exec_profile_seconds are
 * then sums over them. The first run is not counted. */
int profile_run(struct plan *p, int runs, struct profile *out);

/* Tables as text: the device's ceilings r, totals, op kinds, the nodes that lose most. runs as in
 * profile_run. */
void profile_text(const struct plan *p, const struct node_rates *r, int runs,
                  const struct profile *f, struct buf *out);
/* The same of all nodes, as one JSON object. */
void profile_json(const struct plan *p, const struct node_rates *r, int runs,
                  const struct profile *f, struct buf *out);

#endif
