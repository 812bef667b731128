/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which metric a run is watched by, and whether it has reached its target. */
#ifndef DLX_TRAIN_TARGET_H
#define DLX_TRAIN_TARGET_H

#include "ckpt/ckpt.h"
#include "train/predict/evaluate.h"

/* By which validations are compared: checkpoint.metric, else that of the target, else the first of
 * 'metrics' that is one number, else the loss. Of the config's memory, or static. */
const char *target_metric(const struct run_config *c);
bool target_reached(const struct run_config *c, const struct evaluation *e);
/* Whether the validation at a version's step, if there was one, had reached it. */
bool target_reached_in(const struct run_config *c, const struct ckpt_version *v);

#endif
