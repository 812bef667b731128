/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A group of tiles is as large as its sums may be in a core's L2 cache next to the pixels of a
 * block, and as square as possible, since each side is read once for every group along the other
 * side. If groups alone do not give enough units for all cores, or if each would read all pixels,
 * the pixels are divided into chunks, too, and the chunks' sums are added in order. The division
 * with the lowest cost, by a model of multiply-adds and memory traffic, is chosen. */
#include "op/conv/conv_split.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/hash.h"
#include "base/round.h"
#include "op/conv/conv_tile.h"

#define SUM_BYTES (384 << 10)  /* bytes of a group's sums */
#define FILL_RATE 14.0         /* bytes per cycle from beyond L2, if both cores read */
#define BF16_FACTOR 1.5        /* time of bf16 tiles relative to the limit of the instructions */
#define PAIR 2.0               /* cycles to pair one pixel of a tile */
#define BLOCK_PIXELS 192
#define ALIAS 1024             /* floats: pixels this far apart share a few lines of L1 */
#define ALIAS_FACTOR 1.2
#define MOST_UNITS 32          /* there are no more chunks than give this many units */
#define MERGED_MOST 8          /* the most channels of x for which merging with kernel columns
                                * pays */
#define MERGED_ROWS 56

int64_t conv_split_tiles(int64_t vectors)
{
	return vectors == 1 ? 1 : vectors / 2;
}

/* Tiles are two vectors wide; if the number is odd, the last tile is three wide. */
struct part conv_split_tile(int64_t vectors, int64_t i)
{
	const bool last = i == conv_split_tiles(vectors) - 1;
	return (struct part){ 2 * i, last ? vectors - 2 * i : 2 };
}

/* fmax would be a function call. */
static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Cycles for each pixel of a tile: limited by multiply-adds, loads, or the latency of a sum; for
 * bf16, cycles for half a pair. */
static double tile_cycles(bool bf16, int64_t rows, int64_t v)
{
	const double fma = 0.5 * (double)(rows * v), loads = 0.5 * (double)(rows + v * (bf16 ? 2 : 1));
	if (bf16)
		return 0.5 * (larger(6, larger(fma, loads)) + 1);
	return larger(4, larger(fma, loads)) + 0.3;
}

/* Cycles for each pixel and tap, for a group of this size. */
static double group_cycles(bool bf16, int64_t tall, int64_t vectors)
{
	double sum = 0;
	for (int64_t i = 0; i < conv_split_tiles(vectors); i++) {
		const int64_t v = conv_split_tile(vectors, i).size;
		const int64_t n = (tall + tile_rows((int)v) - 1) / tile_rows((int)v);
		const int64_t rows = tall / n, taller = tall % n;
		sum += (double)taller * tile_cycles(bf16, rows + 1, v);
		sum += (double)(n - taller) * tile_cycles(bf16, rows, v);
	}
	return sum;
}

static void set_blocks(struct conv_split *s, const struct conv_frame *f)
{
	const int64_t width = f->y.size[WIDTH];
	const int64_t rows = f->n * f->y.size[DEPTH] * f->y.size[HEIGHT];
	s->col_blocks = ceil_div(width, BLOCK_PIXELS);
	s->block_cols = ceil_div(width, s->col_blocks);
	s->block_rows = BLOCK_PIXELS / s->block_cols;
	if (s->block_rows < 1)
		s->block_rows = 1;
	if (s->block_rows > TILE_SEGMENTS)
		s->block_rows = TILE_SEGMENTS;
	s->row_blocks = ceil_div(rows, s->block_rows);
	s->block_rows = ceil_div(rows, s->row_blocks);
	s->row_blocks = ceil_div(rows, s->block_rows);
}

static void set_chunks(struct conv_split *s)
{
	const int64_t groups = s->tall_groups * s->wide_groups;
	const int64_t blocks = s->row_blocks * s->col_blocks;
	s->chunks = MOST_UNITS / groups;
	if (s->chunks > blocks)
		s->chunks = blocks;
	if (s->chunks < 1)
		s->chunks = 1;
}

/* Cycles for each pixel and tap, over all groups: along each axis parts have one of two sizes. */
static double all_cycles(const struct conv_split *s)
{
	const int64_t more_tall = s->tall % s->tall_groups, more_wide = s->vectors % s->wide_groups;
	const int64_t tall = s->tall / s->tall_groups, wide = s->vectors / s->wide_groups;
	double sum = 0;
	for (int i = 0; i < 4; i++) {
		const int64_t nt = i & 1 ? more_tall : s->tall_groups - more_tall;
		const int64_t nw = i & 2 ? more_wide : s->wide_groups - more_wide;
		if (nt && nw)
			sum += (double)(nt * nw) *
			       group_cycles(s->bf16, tall + (i & 1), wide + (i >> 1));
	}
	return sum;
}

/* The fraction of all (pixel, tap) pairs that do not read padding. */
static double used_part(const struct conv_frame *f)
{
	double part = 1;
	for (int axis = 0; axis < CONV_NS; axis++) {
		int64_t used = 0;
		for (int64_t k = 0; k < f->kernel[axis]; k++) {
			const struct conv_range r = conv_frame_range(f, axis, k);
			used += r.hi - r.lo;
		}
		part *= (double)used / (double)(f->kernel[axis] * f->y.size[axis]);
	}
	return part;
}

static void estimate(struct conv_split *s, const struct conv_frame *f)
{
	const double pixels = (double)conv_frame_pixels(f);
	const double tall_groups = (double)s->tall_groups, wide_groups = (double)s->wide_groups;
	const double units = tall_groups * wide_groups * (double)s->chunks;
	const double wide = (double)(s->vectors * TILE_VECTOR);
	const double sums = (double)s->tall * wide * (double)s->taps;
	double cycles = all_cycles(s) * pixels * (double)s->taps * s->used *
	                (s->bf16 ? BF16_FACTOR : 1);
	if (f->x.step[WIDTH] % ALIAS == 0 || f->y.step[WIDTH] % ALIAS == 0)
		cycles *= ALIAS_FACTOR;
	cycles += (s->bf16 ? 2 : 4) * pixels *
		  ((double)s->tall * wide_groups + wide * tall_groups) / FILL_RATE;
	if (s->bf16)
		cycles += pixels * wide_groups * (double)s->pairings *
			  (tall_groups + (double)s->tall / TILE_MAXROWS) * PAIR;
	cycles += sums * ((s->bf16 ? 1.1 : 3.5) + 0.7 * (double)s->chunks);
	s->seconds = cycles * (1 + 0.5 / units) / (CONV_CORES * CONV_HZ) + 4e-6;
}

static void try_groups(struct conv_split *best, const struct conv_frame *f, int64_t a, int64_t b)
{
	struct conv_split s = *best;
	s.tall_groups = a;
	s.wide_groups = b;
	set_chunks(&s);
	estimate(&s, f);
	if (s.seconds < best->seconds)
		*best = s;
}

/* Finds the best groups for the current sides. */
static void set_groups(struct conv_split *s, const struct conv_frame *f)
{
	const int64_t tall_tiles = ceil_div(s->tall, TILE_MAXROWS);
	const int64_t wide_tiles = ceil_div(s->vectors, 2);
	s->seconds = INFINITY;
	for (int64_t a = 1; a <= tall_tiles; a += 1 + a / 8)
		for (int64_t b = 1; b <= wide_tiles; b += 1 + b / 8) {
			const int64_t tall = ceil_div(s->tall, a), wide = ceil_div(s->vectors, b);
			if (tall * wide * TILE_VECTOR * 4 * s->taps <= SUM_BYTES)
				try_groups(s, f, a, b);
		}
	if (s->seconds == INFINITY)
		try_groups(s, f, tall_tiles, wide_tiles);
}

static void try_sides(struct conv_split *best, const struct conv_frame *f, bool wide_x, bool merged)
{
	struct conv_split s = { .wide_x = wide_x, .merged = merged, .used = best->used,
				.bf16 = best->bf16 };
	s.tall = wide_x ? f->co : f->ci;
	s.wide = wide_x ? f->ci : f->co;
	s.taps = conv_frame_taps(f);
	s.pairings = f->kernel[DEPTH] * f->kernel[HEIGHT] * (wide_x ? 1 : 2 * f->stride[WIDTH]);
	if (merged) {
		s.tall *= f->kernel[WIDTH];
		s.taps /= f->kernel[WIDTH];
	}
	s.vectors = ceil_div(s.wide, TILE_VECTOR);
	set_blocks(&s, f);
	set_groups(&s, f);
	if (s.seconds < best->seconds)
		*best = s;
}

static void make(struct conv_split *s, const struct conv_frame *f, bool bf16)
{
	const int64_t merged = f->ci * f->kernel[WIDTH];
	s->seconds = INFINITY;
	s->bf16 = bf16;
	s->used = used_part(f);
	try_sides(s, f, false, false);
	try_sides(s, f, true, false);
	if (f->kernel[WIDTH] > 1 && f->dilation[WIDTH] == 1 && f->ci <= MERGED_MOST &&
	    merged <= MERGED_ROWS)
		try_sides(s, f, false, true);
}

/* A plan needs the same division several times: for its estimate, for the final plan, and for each
 * of several equal layers. So results are cached. */
#define MEMO 256
static struct {
	pthread_mutex_t lock;
	struct {
		bool there;
		struct conv_frame f;
		struct conv_split s;
	} slot[MEMO];
} memo = { .lock = PTHREAD_MUTEX_INITIALIZER };

void conv_split_make(struct conv_split *s, const struct conv_frame *f, bool bf16)
{
	/* the struct has only int64_t members, so it has no padding bytes */
	const size_t i = hash_bytes(f, sizeof *f, bf16) % MEMO;
	pthread_mutex_lock(&memo.lock);
	if (!memo.slot[i].there || memo.slot[i].s.bf16 != bf16 ||
	    memcmp(&memo.slot[i].f, f, sizeof *f) != 0) {
		memo.slot[i].s = (struct conv_split){ 0 };
		make(&memo.slot[i].s, f, bf16);
		memo.slot[i].f = *f;
		memo.slot[i].there = true;
	}
	*s = memo.slot[i].s;
	pthread_mutex_unlock(&memo.lock);
}
