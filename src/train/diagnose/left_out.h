/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reports steps that the plan's guard skipped (plan/guard.h). */
#ifndef DLX_TRAIN_LEFT_OUT_H
#define DLX_TRAIN_LEFT_OUT_H

#include "base/buf.h"
#include "plan/session.h"

enum left_out { LEFT_OUT_NOT, LEFT_OUT_NONFINITE, LEFT_OUT_OUTLIER };

/* Why a step was skipped, derived from the guard's state before and after it (GUARD_TOLD
 * numbers). */
enum left_out left_out_why(const double *before, const double *after);
/* Reads the guard's state from the store; all zero if there is no guard. */
int left_out_read(const struct session *s, double *guard);
/* Append the report of a skipped step: as text for people, and as JSON members, each after a
 * comma. */
void left_out_text(enum left_out why, const double *guard, double loss, struct buf *out);
void left_out_json(enum left_out why, const double *guard, double loss, struct buf *out);

#endif
