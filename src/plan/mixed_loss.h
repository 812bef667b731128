/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loss of blended samples (data/mixup.h): that of both targets, by their shares. */
#ifndef DLX_PLAN_MIXED_LOSS_H
#define DLX_PLAN_MIXED_LOSS_H

#include "optim/optim.h"
#include "plan/plan.h"

/* Where samples are blended in p, adds the second target, of p->target's type and shape, and the
 * share to p's inputs, and makes *loss, which is that of the first target, the loss of both: means
 * are over the weights of both targets by their shares. Else does nothing. */
int mixed_loss_emit(struct graph *g, const struct plan_request *r, struct plan *p,
                    struct loss_out *loss);
/* Writes those inputs, if p has them. */
int mixed_loss_feed(const struct plan *p, const struct batch *b);

#endif
