/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of a description, each in the file of its name; describe.c calls them. */
#ifndef DLX_PLAN_DESCRIBE_PARTS_H
#define DLX_PLAN_DESCRIBE_PARTS_H

#include "base/buf.h"
#include "plan/session.h"
#include "plan/time/step_time.h"

/* Networks, sets of points, and the terms of each objective with what its plan costs. */
void describe_physics(const struct session *s, struct buf *out);

/* Appends nothing if gradients are not summed over ranks. */
void describe_ranks_text(const struct session *s, const struct plan *p, const struct step_time *t,
                         struct buf *out);
/* The keys "ranks", "sums", "messages", "batch_statistics", "links" and "groups". */
void describe_ranks_json(const struct session *s, const struct plan *p, const struct step_time *t,
                         struct buf *out);

void describe_time_text(const struct session *s, const struct step_time *t, struct buf *out);
/* A member of the plan's object, with the comma after it. */
void describe_time_json(const struct session *s, const struct step_time *t, struct buf *out);

#endif
