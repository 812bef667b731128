/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares the geographic places in two files, apart from the coordinates of single axes: latitudes
 * and longitudes on two axes, and the parameters of projections. */
#ifndef DLX_DATA_TOOLS_PLACE_MEET_H
#define DLX_DATA_TOOLS_PLACE_MEET_H

#include "data/axes.h"

enum place_order {
	PLACES_UNKNOWN,              /* the files have nothing that can be compared */
	PLACES_SAME,
	PLACES_REVERSED,             /* the same places, with one or more axes in the opposite
	                              * direction */
	PLACES_OTHER
};
/* partner: for each axis of `got`, the equal axis of `want`, or -1. For PLACES_REVERSED sets
 * *reversed, with a bit for each axis of got. For PLACES_OTHER appends the difference to out: "NAME
 * ... in FILE, but NAME ... in FILE". */
enum place_order place_meet(const struct axes *want, const struct axes *got, const int *partner,
                            const char *const file[2], unsigned *reversed, struct buf *out);
/* Whether the projections agree in all parameters that both files give. If not, appends both values
 * to out. */
bool place_same_projection(const struct axes *want, const struct axes *got,
                           const char *const file[2], struct buf *out);
#endif
