/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the direct gradient of the weights is cut into tiles, into groups of tiles that stay in a
 * core's cache, and into units of work that any number of threads can share: all a function of the
 * geometry, so that sums have the same order everywhere. */
#ifndef DLX_OP_CONV_CONV_SPLIT_H
#define DLX_OP_CONV_CONV_SPLIT_H

#include "op/conv/conv_frame.h"

/* Part i of n nearly equal parts of [0, total). */
struct part {
	int64_t at, size;
};
static inline struct part part_of(int64_t total, int64_t n, int64_t i)
{
	const int64_t base = total / n, more = total % n;
	return (struct part){ i * base + (i < more ? i : more), base + (i < more) };
}

/* The machine that the time estimates assume. */
#define CONV_HZ 3.7e9                /* of a core, in wide vectors */
#define CONV_CORES 2.0

struct conv_split {
	bool wide_x;                 /* x along vectors, dy broadcast; else the reverse */
	bool bf16;                   /* bf16: pixels are multiplied in pairs */
	bool merged;                 /* x is tall, and its rows are (kernel column, channel) */
	int64_t tall, wide;          /* channels of the sides (merged: kernel columns x channels) */
	int64_t vectors;             /* of the wide side */
	int64_t taps;                /* that have sums of their own (merged: rows of the kernel) */
	int64_t tall_groups, wide_groups;
	int64_t chunks;              /* of pixels, each with sums of its own */
	int64_t block_rows, block_cols;      /* output pixels a tile sums over in one go */
	int64_t row_blocks, col_blocks;
	int64_t pairings;            /* bf16: how many times a tall pixel is paired */
	double used;                 /* part of all pixels and taps that does not meet padding */
	double seconds;              /* estimate */
};

void conv_split_make(struct conv_split *s, const struct conv_frame *f, bool bf16);
/* Tiles that `vectors` neighbouring vectors make, and how wide the i-th is. */
int64_t conv_split_tiles(int64_t vectors);
struct part conv_split_tile(int64_t vectors, int64_t i);

#endif
