/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What "--check" and "--plan" say about the memory there is: whether the plans fit, and what else
 * would. */
#ifndef DLX_PLAN_DESCRIBE_BUDGET_H
#define DLX_PLAN_DESCRIBE_BUDGET_H

#include "base/buf.h"
#include "plan/session.h"

/* Nothing if all that s has planned fits, or if nothing says how much memory there is. Else why
 * it does not, what would, and E_TOO_LARGE, without an entry in the record of errors. */
int describe_fit(const struct session *s, struct buf *out);
/* What there is, and what of it the run takes. */
void describe_budget(const struct session *s, struct buf *out);

#endif
