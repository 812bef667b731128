/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans that the first training step does not wait for: those of evaluations, and that of a short
 * last batch. They are made before their first use, as a phase of its own that all ranks agree
 * upon. What can be wrong about them, their metrics and their memory, is found before the first
 * step all the same. */
#ifndef DLX_TRAIN_LATE_H
#define DLX_TRAIN_LATE_H

#include "train/session.h"

/* Whether such plans wait, once the training plan is there: not where memory is so tight that they
 * might not fit in it. */
bool late_wanted(const struct session *s);

/* Makes and binds them, unless they are there already. Collective; fails on all ranks if it does on one. */
int late_evaluation(struct session *s);
int late_short_batch(struct session *s);

#endif
