/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The metric by which a run is judged, and whether it has reached its target. */
#ifndef DLX_TRAIN_TARGET_H
#define DLX_TRAIN_TARGET_H

#include "ckpt/ckpt.h"
#include "train/predict/evaluate.h"

/* The name of the metric by which validations are compared: checkpoint.metric, else that of the
 * target, else the first of 'metrics' that is one number, else the loss. The string is in the
 * config's memory, or static. */
const char *target_metric(const struct run_config *c);
bool target_reached(const struct run_config *c, const struct evaluation *e);
/* Whether the validation at a checkpoint's step, if there was one, reached the target. */
bool target_reached_in(const struct run_config *c, const struct ckpt_version *v);

#endif
