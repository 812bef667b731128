/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What training, validation and prediction see of samples, in words and as JSON. */
#ifndef DLX_PLAN_DESCRIBE_SEEN_H
#define DLX_PLAN_DESCRIBE_SEEN_H

#include "base/buf.h"
#include "plan/session.h"

/* Lines for --check and --plan. tiles: plans predictions too, and says what fits in memory. */
void describe_seen(const struct session *s, bool tiles, struct buf *out);
/* The same with tiles as the member "sees" of an object, and a comma; nothing without data. */
void describe_seen_json(const struct session *s, struct buf *out);
/* Appends "24 x 24 (5 samples, 2 batches); ...", the sizes of training samples and what an epoch
 * has of them, where there are several. */
void describe_train_sizes(const struct session *s, struct buf *out);

#endif
