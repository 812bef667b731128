/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a step leaves a training that can still learn. */
#ifndef DLX_TRAIN_DIVERGED_H
#define DLX_TRAIN_DIVERGED_H

#include <stdint.h>

struct diverged {
	double scale, skipped;       /* of the loss, and steps left out, after the step before */
	const char *advice;          /* where the cause is the rate or the data: what may help; NULL:
	                              * nothing is known that would */
	int in_vain;                 /* steps left out in a row of which the scale did not change */
};

struct diverged_step {
	double loss;                 /* 0 if it may be what it wants, since the step was left out */
	const double *scaling;       /* the state of loss scaling after it (op/update/loss_scale.h; all
	                              * zero without) */
	const double *guard;         /* that of the guard (op/update/step_guard.h; likewise) */
	int64_t step;                /* its number, from 1 */
};

/* Of each step in order. E_DIVERGED: the loss is not finite, one step after the other overflows at
 * a scale that falls no further, or is left out by the guard. A step left out now and then is how
 * loss scaling works. */
int diverged_check(struct diverged *d, const struct diverged_step *s);

#endif
