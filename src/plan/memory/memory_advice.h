/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What to do about a run that does not fit: each change was planned, for training, validation and
 * prediction, so that it is known to help and what it costs. */
#ifndef DLX_PLAN_MEMORY_ADVICE_H
#define DLX_PLAN_MEMORY_ADVICE_H

#include "plan/memory/memory_budget.h"

/* Adds the least limit to rc, the error of a plan, if the limit there is was too small. */
int memory_advice_limit(const struct session *s, int rc);
/* The refusal of p, with a table of what it needs and the advice as lines below it.
 * E_TOO_LARGE. */
int memory_advice_refuse(const struct session *s, const struct plan *p,
                         const struct memory_budget *r, const struct memory_need *need);

#endif
