/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A field cut into windows of one size, and which outputs each of them gives:
 *
 *   window 0 |---------------------| field |--------------------------------|
 *              outputs ........ |halo| outputs |.................|..............|
 *   window 1             |halo| ........ outputs |
 *
 * Where the receptive field is finite, a window gives the outputs that depend on nothing
 * outside it: they are those of the whole field. A window begins at a multiple of the total
 * stride, so that each layer cuts it as it cuts the field, and the first and the last one end
 * where the field does, so that the zeros that layers add around it are the field's. Where it
 * is not finite, windows overlap by about a quarter, and outputs are means with weights that
 * fall off towards a window's edge. */
#ifndef DLX_PLAN_EXTENT_TILES_H
#define DLX_PLAN_EXTENT_TILES_H

#include "base/arena.h"
#include "pass/receptive_field.h"

struct tile_axis {
	int64_t whole, tile;             /* inputs of the field and of a window */
	int64_t out_whole, out_tile;     /* outputs */
	int n;                           /* windows */
	int64_t *from;                   /* of each: its first input */
	int64_t *begin, *end;            /* the outputs of the field that it gives */
	int64_t *at;                     /* where the first of them is in the window's outputs */
};

struct tiling {
	int axes;
	bool blended;                    /* not those of the whole field */
	struct tile_axis axis[RECEPTIVE_AXES];
};

/* r: of a window of extents tile[], which are at most whole[]; both are multiples of r->stride.
 * Lists in a. E_USAGE if windows are too small to give outputs, with the smallest extent that
 * does. */
int tiles_cut(struct tiling *t, struct arena *a, const struct receptive_field *r, bool blended,
              const int64_t *whole, const int64_t *tile);
/* The weight of window i in the mean for output o of the field, where windows are blended. */
double tile_weight(const struct tile_axis *x, int i, int64_t o);

#endif
