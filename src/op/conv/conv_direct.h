/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The direct gradient of weights (conv_direct_weights.c): what it is planned to be, and the sums of
 * a unit of work, a group of tiles over a chunk of the pixels. */
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
	const int64_t *wide_at, *tall_at;    /* in dw, by channel of each side */
	const int64_t *tap_at;
	const bool *run;             /* by vector of the wide side: its elements are neighbours in dw */
	bool bias, bf16;
	int64_t row_pairs, tile_pairs, pairs;        /* bf16: of a row, a tile, a block */
	int64_t unit_floats;         /* sums of a unit; the sums of the bias come last */
	int64_t bias_floats;
	int64_t sums;                /* units that have sums at the same time */
	struct conv_frame original;  /* merged: of x before the copy */
	int64_t copy_floats;
};

struct direct_unit {
	struct part tall, wide;      /* channels; vectors */
	struct part blocks;
	bool bias;                   /* this one makes the sums of the bias too */
};

/* Tiles along the tall side, of v vectors. */
static inline int64_t direct_tall_tiles(int64_t size, int64_t v)
{
	return (size + tile_rows((int)v) - 1) / tile_rows((int)v);
}

/* The sums of tap `tap` of a wide tile: rows x 16 v. */
static inline float *direct_tile_sums(const struct direct *d, const struct direct_unit *u,
                                      struct part v, int64_t tap, float *sum)
{
	return sum + TILE_VECTOR * u->tall.size * (v.at * d->s.taps + tap * v.size);
}

/* Channels of dy that the unit sums up for the bias. */
static inline struct part direct_bias_part(const struct direct *d, const struct direct_unit *u)
{
	const int64_t at = u->wide.at * TILE_VECTOR, size = u->wide.size * TILE_VECTOR;
	if (d->s.wide_x)
		return u->tall;
	return (struct part){ at, at + size < d->s.wide ? size : d->s.wide - at };
}

/* All sums of a unit, from zero: d->unit_floats at sum. pairs: workspace of d->pairs a thread. */
void direct_sum(const struct direct *d, const struct direct_unit *u, const struct conv_args *a,
                uint32_t *pairs, float *sum);

#endif
