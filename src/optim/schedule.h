/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Learning-rate schedules: constant, step, multistep, polynomial, cosine, exponential, each with
 * linear warm-up. The rate is a pure function of the step, so that a resumed run needs no state.
 * Step 0 is the first update. */
#ifndef DLX_OPTIM_SCHEDULE_H
#define DLX_OPTIM_SCHEDULE_H

#include "yaml/schema.h"

extern const struct variant schedule_variants[];

/* Lengths may be given in steps or epochs; what they come to is fixed here once. */
struct schedule_context {
	double base_rate;
	int64_t total_steps, steps_per_epoch;
};
/* What the tables of keys cannot check (a length that is missing or given twice, milestones that
 * fall); errors are placed. Call it once the config is read; schedule_rate is for schedules that
 * passed. */
int schedule_check(const struct variant_value *schedule);
double schedule_rate(const struct variant_value *schedule, const struct schedule_context *c,
                     int64_t step);

#endif
