/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a step leaves a training that can still learn. */
#ifndef DLX_TRAIN_DIVERGED_H
#define DLX_TRAIN_DIVERGED_H

#include <stdint.h>

struct diverged {
	double scale, skipped;       /* of the loss, and steps left out, after the step before */
	int in_vain;                 /* steps left out in a row of which the scale did not change */
};

/* Of each step in order: its loss, the state of loss scaling after it (op/update/loss_scale.h; all
 * zero without), its number, from 1. E_DIVERGED: the loss is not finite, or one step after the
 * other overflows at a scale that falls no further. A step left out now and then is how loss
 * scaling works. */
int diverged_check(struct diverged *d, double loss, const double *scaling, int64_t step);

#endif
