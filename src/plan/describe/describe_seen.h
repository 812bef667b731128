/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Describes, as text and as JSON, the part of a sample that training, validation and prediction
 * read. */
#ifndef DLX_PLAN_DESCRIBE_SEEN_H
#define DLX_PLAN_DESCRIBE_SEEN_H

#include "base/buf.h"
#include "plan/session.h"

/* Lines for --check and --plan. tiles: plans predictions too, and says what fits in memory. */
void describe_seen(const struct session *s, bool tiles, struct buf *out);
/* The same with tiles as the member "sees" of an object, and a comma; nothing without data. */
void describe_seen_json(const struct session *s, struct buf *out);
/* If training samples have several sizes, appends "24 x 24 (5 samples, 2 batches); ...": the sizes,
 * and the samples and batches of each in an epoch. */
void describe_train_sizes(const struct session *s, struct buf *out);

#endif
