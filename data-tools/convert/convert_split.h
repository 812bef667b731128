/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Splits samples into parts such as training and validation, by groups. A group is a set of samples
 * with a common origin, such as one simulation. A group is never divided between parts, because
 * then validation data would resemble training data. */
#ifndef DLX_DATA_TOOLS_CONVERT_SPLIT_H
#define DLX_DATA_TOOLS_CONVERT_SPLIT_H

#include "data-tools/convert/side/side.h"

struct split_options {
	const char *split;                 /* NAME=SHARE,...; NULL: one part without a name */
	const char *group_by;              /* "file", "key", a pattern, or NULL: key */
	int64_t seed;
};

struct split {
	int n;                             /* number of parts; 0: there is no split */
	const char *const *part;           /* their names */
	const int *of;                     /* the part of each sample of the side */
	const char *const *group;          /* group of each sample; NULL: groups were not requested */
};

/* Computes the split, which depends only on the options and the side's groups. Groups are sorted by
 * a hash of seed and name, and divided in this order so that the parts' shares of samples are as
 * near to the requested ones as whole groups allow. Texts and lists are in arena a. E_USAGE; E_DATA
 * if a part would have no group, or a file does not match the pattern. */
int split_plan(struct split *out, struct arena *a, const struct split_options *o,
               const struct side *side);

#endif
