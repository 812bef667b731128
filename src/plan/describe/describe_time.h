/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The predicted step and run (plan/time/step_time.h), for people and as JSON. */
#ifndef DLX_PLAN_DESCRIBE_TIME_H
#define DLX_PLAN_DESCRIBE_TIME_H

#include "base/buf.h"
#include "plan/time/step_time.h"

void describe_time_text(const struct session *s, const struct step_time *t, struct buf *out);
/* A member of the plan's object, with the comma after it. */
void describe_time_json(const struct session *s, const struct step_time *t, struct buf *out);

#endif
