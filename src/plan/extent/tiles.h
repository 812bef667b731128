/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Divides a field into windows of one size, and assigns to each window the outputs that are taken
 * from it:
 *
 *   window 0 |---------------------| field |--------------------------------|
 *              outputs ........ |halo| outputs |.................|..............|
 *   window 1             |halo| ........ outputs |
 *
 * If the receptive field is finite, the outputs taken from a window are those that depend on inputs
 * in the window only, so they equal those of the whole field. A window begins at a multiple of the
 * network's total stride, so strided layers sample it at the same points as the whole field. The
 * first window begins where the field begins and the last one ends where it ends, so padding by
 * layers is that of the whole field. If the receptive field is not finite, windows overlap by about
 * a quarter, and an output is a weighted mean over windows, with weights that decrease towards a
 * window's edge. */
#ifndef DLX_PLAN_EXTENT_TILES_H
#define DLX_PLAN_EXTENT_TILES_H

#include "base/arena.h"
#include "pass/receptive_field.h"

struct tile_axis {
	int64_t whole, tile;             /* inputs of the field and of a window */
	int64_t out_whole, out_tile;     /* the same for outputs */
	int n;                           /* number of windows */
	int64_t *from;                   /* for each window, its first input */
	int64_t *begin, *end;            /* for each window, the range of the field's outputs that is
	                                  * taken from it */
	int64_t *at;                     /* index of the first of them among the window's outputs */
};

struct tiling {
	int axes;
	bool blended;                    /* outputs are weighted means over windows, not those of the
	                                  * whole field */
	struct tile_axis axis[RECEPTIVE_AXES];
};

/* Fills *t, with its lists in arena a. r: the receptive field, for a window of extents tile[] in a
 * field of extents whole[]; tile[] <= whole[], and both are multiples of r->stride. E_USAGE, with
 * the smallest usable extent, if windows are too small to have outputs. */
int tiles_cut(struct tiling *t, struct arena *a, const struct receptive_field *r, bool blended,
              const int64_t *whole, const int64_t *tile);
/* The weight of window i in the mean for output o of the field, if windows are blended. */
double tile_weight(const struct tile_axis *x, int i, int64_t o);

#endif
