/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reports of steps that the plan left out (plan/guard.h). */
#ifndef DLX_TRAIN_LEFT_OUT_H
#define DLX_TRAIN_LEFT_OUT_H

#include "base/buf.h"
#include "plan/session.h"

enum left_out { LEFT_OUT_NOT, LEFT_OUT_NONFINITE, LEFT_OUT_OUTLIER };

/* Why a step was left out, from the state of the guard before and after it (GUARD_TOLD numbers). */
enum left_out left_out_why(const double *before, const double *after);
/* The state of the guard in the store, all zero if there is none. */
int left_out_read(const struct session *s, double *guard);
/* For people, and as members of an object, each after a comma. */
void left_out_text(enum left_out why, const double *guard, double loss, struct buf *out);
void left_out_json(enum left_out why, const double *guard, double loss, struct buf *out);

#endif
