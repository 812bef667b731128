/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory that all plans of a run need together, for variants of the opened run: used to find a
 * variant that would fit. */
#ifndef DLX_PLAN_RUN_NEED_H
#define DLX_PLAN_RUN_NEED_H

#include "plan/program.h"

/* Bytes that each plan of a run needs, and that all of them need together. */
struct run_need {
	int n;
	struct {
		enum plan_mode mode;
		int64_t fixed;               /* bytes of a limit that are not for the arena (struct
		                              * memory_limit) */
		int64_t arena, least;        /* bytes of the arena; those with as much recomputation as
		                              * possible */
	} plan[PROGRAMS_MOST];
	int64_t fixed, arena, least;     /* fixed: values, inputs, sums and tables of all plans; arena,
	                                  * least: the largest of any plan */
	double again;                    /* additional arithmetic of the first plan by recomputation, in
	                                  * % */
};
#define RUN_NO_LIMIT INT64_MAX       /* a limit that requires no recomputation, for a run that is
                                      * planned as one with a limit */

/* Plans a run of s with config c, for the same network and data, under this memory limit. s does
 * not change, and no engines are measured. least: sets the members `least` too. Returns the errors
 * of planning. */
int run_need(const struct session *s, const struct run_config *c, int64_t limit, bool least,
             struct run_need *out);
/* The largest limit of a step with which all plans of a run with need *n together stay within
 * `have` bytes; 0 or less: there is none. */
int64_t run_limit(const struct run_need *n, int64_t have);
/* The smallest limit that each of the plans can respect. The members `least` must be set. */
int64_t run_least_limit(const struct run_need *n);

#endif
