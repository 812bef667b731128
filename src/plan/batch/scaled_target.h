/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `data.target_transforms` in a plan: the loss reads scaled targets, and a network's outputs are
 * brought back to the target's own units for metrics and predictions. */
#ifndef DLX_PLAN_SCALED_TARGET_H
#define DLX_PLAN_SCALED_TARGET_H

#include "plan/session.h"

/* Emit the scaling of `target` and its inverse on `output`. Without target transforms *out is the
 * tensor given. */
int scaled_target_emit(struct graph *g, const struct plan_request *r, tid target, tid *out);
int scaled_target_undo(struct graph *g, const struct plan_request *r, tid output, tid *out);

/* Fills s->data.scaling, once s->data.classes is known. */
int scaled_target_settle(struct session *s);
/* Append a description as text, and as the member "target" of a JSON object. They append nothing if
 * there are no target transforms, or if the training set is unknown. */
void scaled_target_describe(const struct session *s, struct buf *out);
void scaled_target_json(const struct session *s, struct buf *out);

#endif
