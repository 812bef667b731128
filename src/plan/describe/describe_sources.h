/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Describes the order in which training reads samples, and the share of each of several sources. */
#ifndef DLX_PLAN_DESCRIBE_SOURCES_H
#define DLX_PLAN_DESCRIBE_SOURCES_H

#include "base/buf.h"
#include "plan/session.h"

/* Appends "as stored", "shuffled" or "shuffled within each of 2 hosts". */
void describe_order(const struct session *s, struct buf *out);
/* Lines for --check, --plan and a run's log, without the last line break; all but the first begin
 * with `margin` spaces. Nothing where there is one source and one host. */
void describe_sources(const struct session *s, int margin, struct buf *out);
/* The member "sources" of an object, and a comma; nothing where there are none. */
void describe_sources_json(const struct session *s, struct buf *out);

#endif
