/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The values of a target, for words about what was probably meant otherwise. */
#ifndef DLX_TOOLS_TARGET_SEEN_H
#define DLX_TOOLS_TARGET_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "data/record.h"

struct target_seen {
	bool other;                       /* a value that can be no class */
	bool seen[RECORD_MAX_CLASSES];
};

/* Adds n values; those that are the ignored label too. */
void target_seen_add(struct target_seen *s, const double *v, int64_t n);
/* Adds what another one has seen. */
void target_seen_merge(struct target_seen *s, const struct target_seen *other);
/* Labels with one far above all others: the label that means no class, or a mask of 0 and 255. */
void target_seen_tell_labels(const struct target_seen *s);
/* Floats that are all class numbers. */
void target_seen_tell_field(const struct target_seen *s);

#endif
