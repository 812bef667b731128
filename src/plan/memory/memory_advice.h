/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Advice for a run that does not fit in memory. Each suggested change is planned first, for
 * training, validation and prediction, so dlx knows that the run would fit and what the change
 * costs. */
#ifndef DLX_PLAN_MEMORY_ADVICE_H
#define DLX_PLAN_MEMORY_ADVICE_H

#include "plan/memory/memory_budget.h"

/* If rc says that the memory limit is too small for a plan, adds to the error the smallest limit
 * that would do. Returns rc. */
int memory_advice_limit(const struct session *s, int rc);
/* Raises E_TOO_LARGE for plan p, with a table of the memory it needs and the advice in lines below
 * it. */
int memory_advice_refuse(const struct session *s, const struct plan *p,
                         const struct memory_budget *r, const struct memory_need *need);

#endif
