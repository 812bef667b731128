/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What memory the plans of a run need all together, for runs that are like the one that is opened:
 * to find one that would fit. */
#ifndef DLX_PLAN_RUN_NEED_H
#define DLX_PLAN_RUN_NEED_H

#include "plan/program.h"

/* What each plan of a run needs by itself, and all of them together. */
struct run_need {
	int n;
	struct {
		enum plan_mode mode;
		int64_t fixed;               /* what of a limit is not for the arena: memory_limit */
		int64_t arena, least;        /* least: with as much computed again as is possible */
	} plan[PROGRAMS_MOST];
	int64_t fixed, arena, least;     /* values, inputs, sums and tables of all; the largest */
	double again;                    /* of the first plan: arithmetic that comes on top, in % */
};
#define RUN_NO_LIMIT INT64_MAX       /* all that a run without recomputation needs, but planned as
                                      * one with a limit */

/* Plans a run of s with c, a config of the same network and data, and this limit of memory; nothing
 * of s changes, and no engines are measured. least: finds that too. Fails as planning does. */
int run_need(const struct session *s, const struct run_config *c, int64_t limit, bool least,
             struct run_need *out);
/* The largest limit of a step with which each plan of a run that needs *n could keep to `have`
 * bytes for all; 0 or less: none. */
int64_t run_limit(const struct run_need *n, int64_t have);
/* The smallest limit that each of the plans can respect; needs `least`. */
int64_t run_least_limit(const struct run_need *n);

#endif
