/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loss of blended samples (data/mixup.h): the losses of both targets, weighted by the targets'
 * shares of the sample. */
#ifndef DLX_PLAN_MIXED_LOSS_H
#define DLX_PLAN_MIXED_LOSS_H

#include "plan/compilation.h"

/* If samples are blended, adds inputs for the second target (of the first's type and shape) and for
 * the share, and replaces c->loss, the loss of the first target, by that of both. The weights over
 * which a mean is taken are those of both targets, multiplied by their shares. Else does
 * nothing. */
int mixed_loss_emit(struct graph *g, struct compilation *c);

#endif
