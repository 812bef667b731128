/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairs the files of two lists by their names: by the part in which the names of one list differ
 * (with numbers compared by value), by the names without extension, or by the numbers in the
 * names. */
#ifndef DLX_DATA_TOOLS_PAIR_H
#define DLX_DATA_TOOLS_PAIR_H

#include <stdint.h>

#include "base/arena.h"

enum pair_by {
	PAIR_DIFFERENCE,     /* the part in which the names of a list differ */
	PAIR_STEM,           /* the name without folder and extension */
	PAIR_NUMBERS,        /* the numbers in the name */
	PAIR_ORDER           /* the names have nothing in common, so files are paired by their index in
	                      * the lists */
};
/* "by what differs in their names" */
extern const char *const pair_by_text[];

/* The result of pairing two lists. */
struct pairing {
	enum pair_by by;
	int64_t found;               /* files of the first list that have a partner */
	const int64_t *partner;      /* for each file of the first list, its partner's index in the
	                              * second; -1: none. In the arena */
};

/* Finds the pairing with the most partners; if possible, one that pairs all files of both lists. */
struct pairing pair_names(struct arena *a, const char *const *x, int64_t nx, const char *const *y,
                          int64_t ny);

#endif
