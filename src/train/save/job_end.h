/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of the batch job, and an alarm early enough for the
 * step in progress to end and the state to be written. */
#ifndef DLX_TRAIN_JOB_END_H
#define DLX_TRAIN_JOB_END_H

struct job_end {
	double at;                     /* io_seconds; INFINITY: never, or not asked yet */
	double reserve;                /* seconds kept free before it */
	double step, save;             /* the longest that these took so far */
};

/* Asks the scheduler for the remaining time of the job:
 * seconds, or INFINITY. reserve: seconds wanted. */
double job_end_ask(struct job_end *j, double reserve);
/* Raises `longest` (j->step or j->save) to `seconds` if that is more. */
void job_end_longest(struct job_end *j, double *longest, double seconds);

#endif
