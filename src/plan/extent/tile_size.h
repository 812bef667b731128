/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses the tiles in which a field is predicted: those that the user requests, or the largest
 * that fit in memory. */
#ifndef DLX_PLAN_EXTENT_TILE_SIZE_H
#define DLX_PLAN_EXTENT_TILE_SIZE_H

#include "plan/extent/tiles.h"
#include "plan/session.h"

struct tile_plan {
	struct plan_field field;         /* shape of the samples, and the zeros added at their end */
	struct shape tile;               /* input shape of the plan: channels, and the extents of a
	                                  * window */
	struct graph_whole whole;        /* the graph of the whole field */
	struct tiling tiling;
	bool exact;                      /* predictions equal those of the whole field to the last
	                                  * bit */
};

/* E_USAGE unless spec is "auto" or one to three numbers of at least 1 with 'x' between them. */
int tile_check(const char *spec);
/* Divides the samples of s's validation loader into tiles. Lists are in the config's arena. E_USAGE
 * if spec does not fit the samples or the network, E_TOO_LARGE if no tile fits in memory. */
int tile_settle(const struct session *s, const char *spec, struct tile_plan *out);
/* Finds the largest tile for samples of shape f that fits in memory, and the bytes that its plan
 * needs in addition to parameters. *whole: the tile is the whole field. Errors as above. */
int tile_fit(const struct session *s, const struct plan_field *f, int64_t tile[RECEPTIVE_AXES],
             int64_t *bytes, bool *whole);
/* One line about t: how many tiles of which size, and whether their outputs are those of the
 * whole. */
void tile_text(const struct tile_plan *t, struct buf *out);

#endif
