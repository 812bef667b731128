/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The time limit of the batch job, and an alarm early enough before it to finish the step in
 * progress and write a checkpoint. */
#ifndef DLX_TRAIN_JOB_END_H
#define DLX_TRAIN_JOB_END_H

struct job_end {
	double at;                     /* end of the job, by io_seconds; INFINITY: no limit, or not
	                                * queried yet */
	double reserve;                /* additional seconds kept free before the end */
	double step, save;             /* seconds of the longest step, and of the longest save, so
	                                * far */
};

/* Queries the scheduler and returns the remaining seconds of the job, or INFINITY. reserve: seconds
 * to keep free before its end. */
double job_end_ask(struct job_end *j, double reserve);
/* Raises `longest` (j->step or j->save) to `seconds` if that is more. */
void job_end_longest(struct job_end *j, double *longest, double seconds);

#endif
