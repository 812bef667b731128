/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which files of two lists belong together, by their names: by the part in which the names of a
 * list differ, where numbers count as numbers, by the names without extension, or by the numbers in
 * them. */
#ifndef DLX_DATA_TOOLS_PAIR_H
#define DLX_DATA_TOOLS_PAIR_H

#include <stdint.h>

#include "base/arena.h"

enum pair_by {
	PAIR_DIFFERENCE,     /* what differs between the names of a list */
	PAIR_STEM,           /* the name without folder and extension */
	PAIR_NUMBERS,        /* the numbers in the name */
	PAIR_ORDER           /* the names have nothing in common: by their places in the lists */
};
/* "by what differs in their names" */
extern const char *const pair_by_text[];

/* What two lists have in common. */
struct pairing {
	enum pair_by by;
	int64_t found;               /* files of the first list that have a partner */
	const int64_t *partner;      /* of each file of the first list, in the second; -1: none. In the
	                              * arena */
};

/* The pairing that finds a partner for most files, for all of both lists if there is one. */
struct pairing pair_names(struct arena *a, const char *const *x, int64_t nx, const char *const *y,
                          int64_t ny);

#endif
