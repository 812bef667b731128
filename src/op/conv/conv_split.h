/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The division of the direct gradient to the weights into tiles, into groups of tiles whose sums
 * stay in a core's cache, and into units of work that any number of threads can share. It depends
 * on the geometry only, so that sums have the same order on every machine. */
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
#define CONV_HZ 3.7e9                /* clock of a core while it runs wide vectors */
#define CONV_CORES 2.0

struct conv_split {
	bool wide_x;                 /* the channels of x are along vectors, and dy is broadcast; false:
	                              * the reverse */
	bool bf16;                   /* bf16: pixels are multiplied in pairs */
	bool merged;                 /* x is the tall side, and its rows are pairs (kernel column,
	                              * channel) */
	int64_t tall, wide;          /* channels of each side; merged: tall is kernel columns x
	                              * channels */
	int64_t vectors;             /* vectors of the wide side */
	int64_t taps;                /* taps with separate sums; merged: rows of the kernel */
	int64_t tall_groups, wide_groups;
	int64_t chunks;              /* chunks of the pixels, each with separate sums */
	int64_t block_rows, block_cols;      /* output pixels over which a tile sums in one go */
	int64_t row_blocks, col_blocks;
	int64_t pairings;            /* bf16: how often each pixel of the tall side is packed in a
	                              * pair */
	double used;                 /* fraction of the (pixel, tap) pairs that do not read padding */
	double seconds;              /* estimated time */
};

void conv_split_make(struct conv_split *s, const struct conv_frame *f, bool bf16);
/* The number of tiles for `vectors` adjacent vectors, and the part of them that is tile i. */
int64_t conv_split_tiles(int64_t vectors);
struct part conv_split_tile(int64_t vectors, int64_t i);

#endif
