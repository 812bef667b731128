/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When the batch job ends, and the alarm that is set so early that the step in progress can end and
 * the state be written. */
#ifndef DLX_TRAIN_JOB_END_H
#define DLX_TRAIN_JOB_END_H

struct job_end {
	double at;                     /* io_seconds; INFINITY: never, or not asked yet */
	double reserve;                /* seconds kept free before it */
	double step, save;             /* the longest that these took so far */
};

/* Asks the scheduler how long the job has: that many seconds, or INFINITY. reserve: seconds wanted. */
double job_end_ask(struct job_end *j, double reserve);
/* longest: j->step or j->save, if that took so many seconds. */
void job_end_longest(struct job_end *j, double *longest, double seconds);

#endif
