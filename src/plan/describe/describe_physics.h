/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Describes equations for --plan and --check. */
#ifndef DLX_PLAN_DESCRIBE_PHYSICS_H
#define DLX_PLAN_DESCRIBE_PHYSICS_H

#include "plan/session.h"

/* Networks, sets of points, and the terms of each objective with what its plan costs. */
void describe_physics(const struct session *s, struct buf *out);

#endif
