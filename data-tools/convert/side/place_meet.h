/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares what two files say of places besides the coordinates of each axis: latitudes and
 * longitudes that lie on two axes, and the parameters of their projections. */
#ifndef DLX_DATA_TOOLS_PLACE_MEET_H
#define DLX_DATA_TOOLS_PLACE_MEET_H

#include "data/axes.h"

enum place_order {
	PLACES_UNKNOWN,              /* there is nothing that can be compared */
	PLACES_SAME,
	PLACES_REVERSED,             /* the same along axes that run the other way */
	PLACES_OTHER
};
/* partner: of each axis of `got` that of `want` which is the same, or -1. Of REVERSED sets
 * *reversed, a bit for each axis of got; of OTHER appends both readings, "NAME ... in FILE, but
 * NAME ... in FILE", to out. */
enum place_order place_meet(const struct axes *want, const struct axes *got, const int *partner,
                            const char *const file[2], unsigned *reversed, struct buf *out);
/* Whether their projections have the same parameters, as far as both say them. Otherwise both
 * readings are appended to out. */
bool place_same_projection(const struct axes *want, const struct axes *got,
                           const char *const file[2], struct buf *out);
#endif
