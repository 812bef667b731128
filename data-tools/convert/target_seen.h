/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collects the values of a target, to print notes about probable mistakes. */
#ifndef DLX_TOOLS_TARGET_SEEN_H
#define DLX_TOOLS_TARGET_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "data/record.h"

struct target_seen {
	bool other;                       /* some value cannot be a class number */
	bool seen[RECORD_MAX_CLASSES];
};

/* Adds n values, including those with the ignored label. */
void target_seen_add(struct target_seen *s, const double *v, int64_t n);
/* Adds the values collected in *other. */
void target_seen_merge(struct target_seen *s, const struct target_seen *other);
/* Prints a note if one label is far above all others: probably the label of points without a class,
 * or a mask of 0 and 255. */
void target_seen_tell_labels(const struct target_seen *s);
/* Prints a note if all floating-point values are class numbers. */
void target_seen_tell_field(const struct target_seen *s);

#endif
