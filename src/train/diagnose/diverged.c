/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Without loss scaling, a gradient that is not finite shows in the next step's loss. With loss
 * scaling such a gradient is never applied, so a network whose gradients are never finite would
 * train forever with a loss that looks normal. */
#include "train/diagnose/diverged.h"

#include <inttypes.h>
#include <math.h>

#include "base/err.h"
#include "op/update/loss_scale.h"
#include "op/update/step_guard.h"

#define IN_VAIN 50

static int check_loss(struct diverged *d, double loss, int64_t step)
{
	if (isfinite(loss))
		return 0;
	d->advice = "a smaller learning rate, a warm-up or 'train.clip_norm' may help, or the data has "
	            "such values";
	return ERR(E_DIVERGED, NULL, "the loss is not finite (%g) at step %" PRId64, loss, step);
}

static int check_guard(const double *guard, int64_t step)
{
	if (guard[GUARD_IN_A_ROW] < IN_VAIN)
		return 0;
	return ERR(E_DIVERGED, NULL, "%d steps in a row up to step %" PRId64 " were left out, by "
	           "'train.on_nonfinite' or 'train.skip_outliers': that is no chance any more", IN_VAIN,
	           step);
}

int diverged_check(struct diverged *d, const struct diverged_step *s)
{
	double scale = s->scaling[LOSS_SCALE_NOW], skipped = s->scaling[LOSS_SCALE_SKIPPED];
	TRY(check_loss(d, s->loss, s->step));
	TRY(check_guard(s->guard, s->step));
	if (skipped > d->skipped && scale == d->scale)
		d->in_vain++;
	else
		d->in_vain = 0;
	d->scale = scale;
	d->skipped = skipped;
	if (d->in_vain < IN_VAIN)
		return 0;
	d->advice = "a smaller learning rate, or a smaller 'least' or 'scale' in "
	            "'precision.loss_scale', may help";
	return ERR(E_DIVERGED, NULL, "gradients are not finite in each of %d steps up to step %" PRId64
	           ", at a loss scale of %g that falls no further", d->in_vain, s->step, scale);
}
