/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Describes training on several ranks: their hosts, the buckets of gradients, and the predicted
 * times at which their all-reduces end. */
#ifndef DLX_PLAN_DESCRIBE_RANKS_H
#define DLX_PLAN_DESCRIBE_RANKS_H

#include "plan/time/step_time.h"

/* Appends nothing if gradients are not summed over ranks. */
void describe_ranks_text(const struct session *s, const struct plan *p, const struct step_time *t,
                         struct buf *out);
/* The keys "ranks", "sums", "messages", "batch_statistics", "links" and "groups". */
void describe_ranks_json(const struct session *s, const struct plan *p, const struct step_time *t,
                         struct buf *out);

#endif
