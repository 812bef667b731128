/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Steps that are left out because of their loss or gradient (train.on_nonfinite,
 * train.skip_outliers), as graph: one node between the gradients and the updates decides
 * (op/update/step_guard.h), so that nothing waits for the host. */
#ifndef DLX_PLAN_GUARD_H
#define DLX_PLAN_GUARD_H

#include "plan/compilation.h"

/* The name of its state, in the store and in checkpoints. */
#define GUARD_STATE "step_guard"

bool guard_wanted(const struct run_config *c);
/* in->apply and in->step become those of the guard, whose state is c->guard, to be read back.
 * in->grad_scale: what gradients are to be multiplied by, before clipping. */
int guard_emit(struct graph *g, struct compilation *c, const struct bundles *b,
               struct optim_input *in);

#endif
