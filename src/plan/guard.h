/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Emits the guard, which skips the update of a step whose loss or gradient is not finite or an
 * outlier (train.on_nonfinite, train.skip_outliers). It is one node between the gradients and the
 * updates (op/update/step_guard.h), so the device need not wait for the host. */
#ifndef DLX_PLAN_GUARD_H
#define DLX_PLAN_GUARD_H

#include "plan/compilation.h"

/* The name of the guard's state in the store and in checkpoints. */
#define GUARD_STATE "step_guard"

bool guard_wanted(const struct run_config *c);
/* Emits the guard and stores its outputs in in->apply and in->step. Its state is c->guard, which is
 * read back to the host. in->grad_scale: the factor of gradients, applied before clipping. */
int guard_emit(struct graph *g, struct compilation *c, const struct bundles *b,
               struct optim_input *in);

#endif
