/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Describes the available memory for "--check" and "--plan": whether the plans fit and, if not,
 * what would. */
#ifndef DLX_PLAN_DESCRIBE_BUDGET_H
#define DLX_PLAN_DESCRIBE_BUDGET_H

#include "base/buf.h"
#include "plan/session.h"

/* If s's plans do not fit, appends why and what would fit, and returns E_TOO_LARGE without an entry
 * in the error record. Appends nothing if they fit, or if the size of the memory is unknown. */
int describe_fit(const struct session *s, struct buf *out);
/* Appends the available memory and the part of it that the run takes. */
void describe_budget(const struct session *s, struct buf *out);

#endif
