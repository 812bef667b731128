/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A view reads an array in another order than it is stored in: with its axes permuted and, along
 * each axis, only the elements listed in a table. It undoes transposed, reversed or rolled axes,
 * and restricts arrays to the coordinates that they have in common. */
#ifndef DLX_DATA_TOOLS_SOURCE_VIEW_H
#define DLX_DATA_TOOLS_SOURCE_VIEW_H

#include <stdint.h>

#include "base/arena.h"
#include "base/types.h"

struct source_view {
	int nd;
	int stored[MAXD];              /* for each axis of the view, the axis of the stored array */
	int64_t stored_n[MAXD];        /* extents of the stored array */
	int64_t n[MAXD];               /* extents of the view */
	const int64_t *element[MAXD];  /* for each axis of the view, the indices of its elements in the
	                                * stored array; NULL: all, in order */
};

/* The view that reads an array of this shape as it is stored. */
struct source_view source_view_plain(const struct shape *stored);
bool source_view_is_plain(const struct source_view *v);
/* Changes v so that its axis i is the former axis order[i]. */
void source_view_permute(struct source_view *v, const int *order);
/* Changes v so that element i along the axis, of n, is the former element element[i]. Tables are in
 * arena a. */
void source_view_choose(struct source_view *v, struct arena *a, int axis, const int64_t *element,
                        int64_t n);
/* Computes the smallest box of the stored array that contains all elements of a box of the view. */
void source_view_box(const struct source_view *v, const int64_t *start, const int64_t *count,
                     int64_t *stored_start, int64_t *stored_count);
/* Copies the values of that stored box, of `size` bytes each, to the box of the view. */
void source_view_gather(const struct source_view *v, const int64_t *start, const int64_t *count,
                        const int64_t *stored_start, const int64_t *stored_count, const void *from,
                        size_t size, void *out);

#endif
