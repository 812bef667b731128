/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Describes how samples are cut over ranks (parallel.spatial): teams, rows, what is gathered, and
 * the messages of the rank that is planned. */
#ifndef DLX_PLAN_DESCRIBE_SPATIAL_H
#define DLX_PLAN_DESCRIBE_SPATIAL_H

#include "plan/time/step_time.h"

/* Lines for --check and --plan; with `table` also the messages of each layer. With whole samples
 * only the reason of `auto`, if the config has that. */
void describe_spatial_text(const struct session *s, const struct step_time *t, bool table,
                           struct buf *out);
/* The member "spatial" of the plan's object, with the comma after it; nothing if the config has
 * no cut. */
void describe_spatial_json(const struct session *s, const struct step_time *t, struct buf *out);

#endif
