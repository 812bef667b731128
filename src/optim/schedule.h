/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Learning-rate schedules: constant, step, multistep, polynomial, cosine, exponential, plateau,
 * each with linear warm-up. The rate is a pure function of the step, and of plateau's count of
 * reductions, which checkpoints keep; a resumed run needs no other state. Step 0 is the first
 * update. */
#ifndef DLX_OPTIM_SCHEDULE_H
#define DLX_OPTIM_SCHEDULE_H

#include "yaml/schema.h"

extern const struct variant schedule_variants[];

/* What the schedule plateau has seen: all 0 but best, NaN, before the first validation. */
struct plateau {
	double best;                     /* larger is better */
	int64_t stale, cooldown;         /* validations in a row without a better one; still to be
	                                  * passed over */
	int64_t reductions;              /* of the rate, so far */
};

/* Lengths may be given in steps or epochs; what they come to is fixed here once. */
struct schedule_context {
	double base_rate;
	int64_t total_steps, steps_per_epoch;
	int64_t reductions;              /* of struct plateau */
};
/* Whether the rate depends on validations; then each changes p, and true means that the rate falls.
 * metric: larger is better; NaN counts as not better. */
bool schedule_watches(const struct variant_value *schedule);
bool schedule_validated(const struct variant_value *schedule, struct plateau *p, double metric);
/* What the tables of keys cannot check (a length that is missing or given twice, milestones that
 * fall); errors are placed. Call it once the config is read; schedule_rate is for schedules that
 * passed. */
int schedule_check(const struct variant_value *schedule);
/* That a schedule does not reach its end (over: the place of the key) before its warm-up has ended.
 * steps_per_epoch: 0 where it is not known yet; then lengths of one unit alone are compared. */
int schedule_check_over(const struct variant_value *schedule, int64_t steps_per_epoch,
                        const struct loc *over);
/* Whether it reaches its end where the run ends, however long that is. */
bool schedule_spans_run(const struct variant_value *schedule);
double schedule_rate(const struct variant_value *schedule, const struct schedule_context *c,
                     int64_t step);

#endif
