/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The batch that "--bench" and "--dump-step" work on: the first of the training set or, with
 * "--synthetic", one made up in memory, so that a step can be timed or looked at without record
 * files. Made-up inputs have mean 0 and variance 1; labels are any of the classes, equally often;
 * other targets are like inputs. All is a function of run.seed. */
#ifndef DLX_TRAIN_SYNTHETIC_H
#define DLX_TRAIN_SYNTHETIC_H

#include "plan/session.h"

/* Writes that batch and the scalars of *step into the
 * inputs of the plan it fits, which is *used. */
int session_feed_first(struct session *s, const struct plan_step *step, struct plan **used);

#endif
