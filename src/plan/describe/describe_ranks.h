/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a plan says of training on several ranks: where they are, the gradient buckets and when
 * their sums are predicted to be done. */
#ifndef DLX_PLAN_DESCRIBE_RANKS_H
#define DLX_PLAN_DESCRIBE_RANKS_H

#include "plan/time/step_time.h"

/* Nothing where gradients are not summed over ranks. */
void describe_ranks_text(const struct session *s, const struct plan *p, const struct step_time *t,
                         struct buf *out);
/* The keys "ranks", "sums", "messages", "batch_statistics", "links" and "groups". */
void describe_ranks_json(const struct session *s, const struct plan *p, const struct step_time *t,
                         struct buf *out);

#endif
