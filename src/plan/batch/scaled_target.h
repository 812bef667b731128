/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `data.target_transforms` in a plan: the loss reads scaled targets, and a network's outputs are
 * brought back to the target's own units for metrics and predictions. */
#ifndef DLX_PLAN_SCALED_TARGET_H
#define DLX_PLAN_SCALED_TARGET_H

#include "plan/session.h"

/* Both: without target transforms *out is what it is made from. */
int scaled_target_emit(struct graph *g, const struct plan_request *r, tid target, tid *out);
int scaled_target_undo(struct graph *g, const struct plan_request *r, tid output, tid *out);

/* Fills s->data.scaling, once s->data.classes is known. */
int scaled_target_settle(struct session *s);
/* In words, and as a member "target" of an object. Nothing without target transforms, or where
 * nothing is known of the training set. */
void scaled_target_describe(const struct session *s, struct buf *out);
void scaled_target_json(const struct session *s, struct buf *out);

#endif
