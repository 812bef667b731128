/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An array read in another order than it is stored in: its axes in another order, and along each
 * the elements of a table. That turns what is transposed, reversed or rolled, and joins arrays by
 * the coordinates that both have. */
#ifndef DLX_DATA_TOOLS_SOURCE_VIEW_H
#define DLX_DATA_TOOLS_SOURCE_VIEW_H

#include <stdint.h>

#include "base/arena.h"
#include "base/types.h"

struct source_view {
	int nd;
	int stored[MAXD];              /* of each axis as read, that of the array as stored */
	int64_t stored_n[MAXD];        /* extents as stored, of the axes as stored */
	int64_t n[MAXD];               /* extents as read */
	const int64_t *element[MAXD];  /* of each axis as read: which are stored; NULL: as is */
};

/* An array of this shape as it is stored. */
struct source_view source_view_plain(const struct shape *stored);
bool source_view_is_plain(const struct source_view *v);
/* Changes v so that axis i as read is the one that was axis order[i]. */
void source_view_permute(struct source_view *v, const int *order);
/* Changes v so that element i along the axis is the one that was element[i] of n; tables in a. */
void source_view_choose(struct source_view *v, struct arena *a, int axis, const int64_t *element,
                        int64_t n);
/* The box of the array as stored, in its order, which has all of a box as read. */
void source_view_box(const struct source_view *v, const int64_t *start, const int64_t *count,
                     int64_t *stored_start, int64_t *stored_count);
/* That box's values, of `size` bytes each, as those of the box as read. */
void source_view_gather(const struct source_view *v, const int64_t *start, const int64_t *count,
                        const int64_t *stored_start, const int64_t *stored_count, const void *from,
                        size_t size, void *out);

#endif
