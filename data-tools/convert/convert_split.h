/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Splits samples into parts such as training and validation, by groups: things that samples have in
 * common, such as the simulation they are from, which no split may cut in two, or the validation
 * would see what was trained on. */
#ifndef DLX_DATA_TOOLS_CONVERT_SPLIT_H
#define DLX_DATA_TOOLS_CONVERT_SPLIT_H

#include "data-tools/convert/side/side.h"

struct split_options {
	const char *split;                 /* NAME=SHARE,...; NULL: one part without a name */
	const char *group_by;              /* "file", "key", a pattern, or NULL: key */
	int64_t seed;
};

struct split {
	int n;                             /* parts; 0: there is no split */
	const char *const *part;           /* their names */
	const int *of;                     /* the part of each sample of the side */
	const char *const *group;          /* its group; NULL: groups were not asked for */
};

/* A function of the options and of all groups of the side: groups are sorted by a hash of seed and
 * name, and cut so that the parts have the shares of all samples as nearly as whole groups allow.
 * Texts and lists live in a. E_USAGE; E_DATA where a part would have no group, or a file does not
 * match the pattern. */
int split_plan(struct split *out, struct arena *a, const struct split_options *o,
               const struct side *side);

#endif
