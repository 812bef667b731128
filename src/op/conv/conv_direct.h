/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The direct gradient to the weights (conv_direct_weights.c): its plan, and the sums of one unit of
 * work. A unit is a group of tiles over a chunk of the pixels. */
#ifndef DLX_OP_CONV_CONV_DIRECT_H
#define DLX_OP_CONV_CONV_DIRECT_H

#include "op/conv/conv_args.h"
#include "op/conv/conv_algorithm.h"
#include "op/conv/conv_frame.h"
#include "op/conv/conv_split.h"
#include "op/conv/conv_tile.h"
#include "op/conv/conv_weights.h"
#include "op/lib/row.h"

struct direct {
	struct conv_kernel base;
	struct conv_frame f;
	struct conv_split s;
	struct conv_weights w;
	const int64_t *wide_at, *tall_at;    /* offset in dw of each channel of the side */
	const int64_t *tap_at;
	const bool *run;             /* for each vector of the wide side: its elements are contiguous in
	                              * dw */
	bool bias, bf16;
	int64_t row_pairs, tile_pairs, pairs;        /* bf16: pairs of pixels in a row, a tile, a
	                                              * block */
	int64_t unit_floats;         /* floats of a unit's sums; those of the bias come last */
	int64_t bias_floats;
	int64_t sums;                /* units whose sums exist at the same time */
	struct conv_frame original;  /* merged: x before it is copied */
	int64_t copy_floats;
};

struct direct_unit {
	struct part tall, wide;      /* channels of the tall side; vectors of the wide one */
	struct part blocks;
	bool bias;                   /* the unit also sums dy for the bias */
};

/* The number of tiles along the tall side, for tiles v vectors wide. */
static inline int64_t direct_tall_tiles(int64_t size, int64_t v)
{
	return (size + tile_rows((int)v) - 1) / tile_rows((int)v);
}

/* The sums of tap `tap` in a tile v: rows x 16 v floats. */
static inline float *direct_tile_sums(const struct direct *d, const struct direct_unit *u,
                                      struct part v, int64_t tap, float *sum)
{
	return sum + TILE_VECTOR * u->tall.size * (v.at * d->s.taps + tap * v.size);
}

/* The channels of dy that the unit sums for the bias. */
static inline struct part direct_bias_part(const struct direct *d, const struct direct_unit *u)
{
	const int64_t at = u->wide.at * TILE_VECTOR, size = u->wide.size * TILE_VECTOR;
	if (d->s.wide_x)
		return u->tall;
	return (struct part){ at, at + size < d->s.wide ? size : d->s.wide - at };
}

/* Computes all sums of a unit: d->unit_floats at sum, which it overwrites. pairs: workspace of
 * d->pairs for each thread. */
void direct_sum(const struct direct *d, const struct direct_unit *u, const struct conv_args *a,
                uint32_t *pairs, float *sum);

#endif
