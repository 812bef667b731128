/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The batch for "--bench" and "--dump-step": the first one of the training set or, with
 * "--synthetic", a synthetic one, which needs no record files. Synthetic inputs have mean 0 and
 * variance 1, labels are drawn uniformly from the classes, and other targets are drawn like inputs.
 * All values are a function of run.seed. */
#ifndef DLX_TRAIN_SYNTHETIC_H
#define DLX_TRAIN_SYNTHETIC_H

#include "plan/session.h"

#define SYNTHETIC_MOST 1.7320508f    /* the largest absolute value of an input */

/* A synthetic batch for plan p, in arena a. Another `draw` has other values. */
struct batch synthetic_batch(struct arena *a, const struct session *s, const struct plan *p,
                             uint64_t draw);
/* Writes that batch and the scalars of *step into the inputs of the plan for its size, and sets
 * *used to that plan. */
int session_feed_first(struct session *s, const struct plan_step *step, struct plan **used);

#endif
