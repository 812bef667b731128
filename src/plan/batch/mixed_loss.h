/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loss of blended samples (data/mixup.h): that of both targets, by their shares. */
#ifndef DLX_PLAN_MIXED_LOSS_H
#define DLX_PLAN_MIXED_LOSS_H

#include "plan/compilation.h"

/* Where samples are blended, adds inputs for the second target, of the first's type and shape, and
 * for the share, and makes c->loss, which is that of the first target, the loss of both: means are
 * over the weights of both targets by their shares. Else does nothing. */
int mixed_loss_emit(struct graph *g, struct compilation *c);

#endif
