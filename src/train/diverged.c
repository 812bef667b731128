/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Without loss scaling a gradient that is not finite shows in the next step's loss. With it such
 * a gradient is never applied, so that a network which gives no other would go on for ever with a
 * loss that looks well. */
#include "train/diverged.h"

#include <inttypes.h>
#include <math.h>

#include "base/err.h"
#include "op/update/loss_scale.h"

#define IN_VAIN 50

static int check_loss(double loss, int64_t step)
{
	if (isfinite(loss))
		return 0;
	return ERR(E_DIVERGED, NULL,
	           "the loss is not finite (%g) at step %" PRId64 "; a smaller learning rate, a "
	           "warm-up or 'train.clip_norm' may help, or the data has such values", loss, step);
}

int diverged_check(struct diverged *d, double loss, const double *scaling, int64_t step)
{
	double scale = scaling[LOSS_SCALE_NOW], skipped = scaling[LOSS_SCALE_SKIPPED];
	TRY(check_loss(loss, step));
	if (skipped > d->skipped && scale == d->scale)
		d->in_vain++;
	else
		d->in_vain = 0;
	d->scale = scale;
	d->skipped = skipped;
	if (d->in_vain < IN_VAIN)
		return 0;
	return ERR(E_DIVERGED, NULL, "gradients are not finite in each of %d steps up to step %" PRId64
	           ", at a loss scale of %g that falls no further; a smaller learning rate, or a "
	           "smaller 'least' or 'scale' in 'precision.loss_scale', may help", d->in_vain,
	           step, scale);
}
