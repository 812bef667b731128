/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deferred plans are made just before their first use, so that the first training step does not
 * wait for them: the plans of evaluations, and that of a short last batch. Making them is a phase
 * on which all ranks agree (ranks_agree). Errors of metrics and memory that they could have are
 * still found before the first step. */
#ifndef DLX_TRAIN_DEFERRED_PLANS_H
#define DLX_TRAIN_DEFERRED_PLANS_H

#include "plan/session.h"

/* Whether such plans are deferred. Call it after the training plan was made. False if memory is so
 * tight that they might not fit, or if evaluations read larger samples. */
bool deferred_wanted(const struct session *s);

/* Makes and binds the missing plans of this mode: in training that of a short batch. If it fails on
 * one rank, it fails on all. Collective. */
int deferred_make(struct session *s, enum plan_mode mode);

#endif
