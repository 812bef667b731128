/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks after each step whether training has diverged. */
#ifndef DLX_TRAIN_DIVERGED_H
#define DLX_TRAIN_DIVERGED_H

#include <stdint.h>

struct diverged {
	double scale, skipped;       /* loss scale, and number of skipped steps, after the previous
	                              * step */
	const char *advice;          /* a remedy, if the cause is the learning rate or the data; NULL:
	                              * none is known */
	int in_vain;                 /* number of consecutive skipped steps that did not lower the loss
	                              * scale */
};

struct diverged_step {
	double loss;                 /* loss of the step; 0 if any value is acceptable, since the step
	                              * was skipped */
	const double *scaling;       /* state of loss scaling after the step (op/update/loss_scale.h);
	                              * all zero if there is none */
	const double *guard;         /* state of the guard after the step (op/update/step_guard.h); all
	                              * zero if there is none */
	int64_t step;                /* number of the step, from 1 */
};

/* Call it for each step in order. E_DIVERGED: the loss is not finite, or many consecutive steps
 * overflowed at the smallest loss scale or were skipped by the guard. A single skipped step is no
 * error: loss scaling finds its scale in this way. */
int diverged_check(struct diverged *d, const struct diverged_step *s);

#endif
