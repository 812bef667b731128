/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deferred plans, for which the first training step does not wait: those of evaluations, and that
 * of a short last batch. They are made before their first use, as a phase on which all ranks agree.
 * Their possible errors, of metrics and of memory, are found before the first step all the same. */
#ifndef DLX_TRAIN_DEFERRED_PLANS_H
#define DLX_TRAIN_DEFERRED_PLANS_H

#include "plan/session.h"

/* Whether such plans are deferred, once the training plan is made: not where memory is so tight
 * that they might not fit in it, or evaluations see larger samples. */
bool deferred_wanted(const struct session *s);

/* Makes and binds the plans of training (a short batch's) or of evaluation that are not there yet.
 * Collective; fails on all ranks if it does on one. */
int deferred_make(struct session *s, enum plan_mode mode);

#endif
