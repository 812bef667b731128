/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What to do about a step that does not fit: each remedy was
 * planned, so that it is known to help and what it costs. */
#ifndef DLX_PLAN_REMEDIES_H
#define DLX_PLAN_REMEDIES_H

#include "plan/room.h"

/* The refusal of p, with a table of what it needs and the remedies as lines below it.
 * E_TOO_LARGE. */
int remedies_refuse(const struct session *s, const struct plan *p, const struct room *r, const struct room_need *need);

#endif
