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

/* The state of the schedule `plateau`. Before the first validation all members are 0, except best,
 * which is NaN. */
struct plateau {
	double best;                     /* best metric so far; larger is better */
	int64_t stale, cooldown;         /* number of validations in a row without an improvement;
	                                  * number still to be ignored */
	int64_t reductions;              /* number of reductions of the rate so far */
};

/* Constants of the run that a schedule needs, for instance to convert lengths in epochs to
 * steps. */
struct schedule_context {
	double base_rate;
	int64_t total_steps, steps_per_epoch;
	int64_t reductions;              /* of struct plateau */
};
/* schedule_watches: whether the rate depends on validations. If so, call schedule_validated after
 * each: it updates p and returns true if the rate is reduced. metric: larger is better; NaN counts
 * as no improvement. */
bool schedule_watches(const struct variant_value *schedule);
bool schedule_validated(const struct variant_value *schedule, struct plateau *p, double metric);
/* Checks what the tables of keys cannot (a length that is missing or given twice, milestones that
 * decrease); errors have a location. Call it after the config is read; schedule_rate requires that
 * it has passed. */
int schedule_check(const struct variant_value *schedule);
/* Checks that the schedule's end (over: location of the key) is not before the end of its warm-up.
 * steps_per_epoch 0: not known yet; then only lengths in the same unit are compared. */
int schedule_check_over(const struct variant_value *schedule, int64_t steps_per_epoch,
                        const struct loc *over);
/* Whether the schedule always ends together with the run, for any length of the run. */
bool schedule_spans_run(const struct variant_value *schedule);
double schedule_rate(const struct variant_value *schedule, const struct schedule_context *c,
                     int64_t step);

#endif
