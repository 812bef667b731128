/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which tiles a field is predicted in: as the user says, or the largest that fit in memory. */
#ifndef DLX_PLAN_EXTENT_TILE_SIZE_H
#define DLX_PLAN_EXTENT_TILE_SIZE_H

#include "plan/extent/tiles.h"
#include "plan/session.h"

struct tile_plan {
	struct plan_field field;         /* the samples, and the zeros at their end */
	struct shape tile;               /* what a plan is made for: channels
	                                  * and the extents of a window */
	struct graph_whole whole;        /* the graph that it is a piece of */
	struct tiling tiling;
	bool exact;                      /* to the last bit what the whole field gives */
};

/* E_USAGE unless spec is "auto" or one to three numbers of at least 1 with 'x' between them. */
int tile_check(const char *spec);
/* Cuts samples as s's validation loader has them. Lists are in the config's arena. E_USAGE where
 * spec does not fit the samples or the network, E_TOO_LARGE where no tile fits in memory. */
int tile_settle(const struct session *s, const char *spec, struct tile_plan *out);
/* The largest tile that fits for samples f, and the bytes that its plan needs besides parameters;
 * *whole: that is the whole field. Errors as above. */
int tile_fit(const struct session *s, const struct plan_field *f, int64_t tile[RECEPTIVE_AXES],
             int64_t *bytes, bool *whole);
/* One line about t: how many tiles of which size, and whether their outputs are those of the
 * whole. */
void tile_text(const struct tile_plan *t, struct buf *out);

#endif
