/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sums of a unit. For each block of its pixels and each kernel row, it finds the pairs of pixel
 * rows of x and y, and computes all tiles while these rows are in the cache. */
#include <omp.h>
#include <string.h>

#include "base/simd.h"
#include "op/conv/conv_args.h"
#include "op/conv/conv_direct.h"

static uint16_t tile_mask(const struct direct *d, int64_t vector)
{
	const int64_t left = d->s.wide - vector * TILE_VECTOR;
	return left < TILE_VECTOR ? (uint16_t)((1 << left) - 1) : 0xffff;
}

/* A block of output pixels: rows of y, counted over all samples, and columns. */
struct block {
	const struct direct *d;
	const void *x, *y;
	uint32_t *pairs;             /* bf16: pairs of the tall side */
	const void *tall[TILE_SEGMENTS];     /* bf16: the rows before pairing */
	int64_t paired;              /* bf16: number of tiles whose channels are paired */
	struct part rows, cols;
};

/* Finds the pixel rows of the block for which kernel row (kd, kh) reads inside x. */
static void find_rows(struct block *b, int64_t kd, int64_t kh, struct tile_pixels *p)
{
	const struct conv_frame *f = &b->d->f;
	const int64_t height = f->y.size[HEIGHT], depth = f->y.size[DEPTH];
	p->n = 0;
	b->paired = 0;
	for (int64_t r = b->rows.at; r < b->rows.at + b->rows.size; r++) {
		const int64_t h = r % height, z = r / height % depth, n = r / height / depth;
		const int64_t xh = conv_frame_at(f, HEIGHT, kh, h);
		const int64_t xz = conv_frame_at(f, DEPTH, kd, z);
		if (xh < 0 || xh >= f->x.size[HEIGHT] || xz < 0 || xz >= f->x.size[DEPTH])
			continue;
		const void *x = row_at(b->x, b->d->bf16, n * f->x.image + xz * f->x.step[DEPTH] +
		                               xh * f->x.step[HEIGHT]);
		const void *y = row_at(b->y, b->d->bf16, n * f->y.image + z * f->y.step[DEPTH] +
		                               h * f->y.step[HEIGHT]);
		p->wide[p->n] = b->d->s.wide_x ? x : y;
		b->tall[p->n] = p->tall[p->n] = b->d->s.wide_x ? y : x;
		p->n++;
	}
}

/* Pairs the unit's channels in the rows found, for n tiles, and makes p point to the pairs. */
static void pair_rows(struct block *b, const struct direct_unit *u, int64_t n,
                      struct tile_pixels *p)
{
	const struct direct *d = b->d;
	const struct conv_frame *f = &d->f;
	const bool y = d->s.wide_x;
	const struct conv_range own = { b->cols.at, b->cols.at + b->cols.size };
	const struct conv_range c = y ? own : conv_frame_reach(f, WIDTH, own);
	struct tile_row r = { .n = c.hi - c.lo, .every = y ? 2 : 1,
		.partner = y ? 1 : f->stride[WIDTH] };
	r.step = y ? f->y.step[WIDTH] : f->x.step[WIDTH];
	for (int i = 0; i < p->n; i++) {
		p->tall[i] = b->pairs + i * d->row_pairs;
		for (int64_t t = 0; t < n; t++) {
			const struct part rows = part_of(u->tall.size, n, t);
			r.from = row_at(b->tall[i], d->bf16, c.lo * r.step + u->tall.at + rows.at);
			r.channels = (int)rows.size;
			tile_pair(&r, b->pairs + i * d->row_pairs + t * d->tile_pairs);
		}
	}
	b->paired = n;
}

/* wide_at, tall_at: offsets of the unit's first channels. */
static void sum_tile(const struct direct *d, const struct direct_unit *u, struct tile_pixels *p,
                     struct part v, int64_t wide_at, int64_t tall_at, float *sum)
{
	const int64_t first = u->wide.at + v.at;
	const uint16_t mask = tile_mask(d, first + v.size - 1);
	const int64_t n = direct_tall_tiles(u->tall.size, v.size);
	for (int64_t i = 0; i < n; i++) {
		const struct part r = part_of(u->tall.size, n, i);
		const int nv = (int)v.size, nr = (int)r.size;
		if (i > 0)
			p->wide_ahead = 0;
		(d->bf16 ? tile_outer_bf16(nv, nr) : tile_outer(nv, nr))(
			p, wide_at + v.at * TILE_VECTOR,
			tall_at + (d->bf16 ? i * d->tile_pairs : r.at), mask,
			sum + r.at * v.size * TILE_VECTOR);
	}
}

/* While the first tiles of a block use its pixels, those of the next block are prefetched: the tall
 * side during the first wide tile, the wide side during each wide tile; y at the first tap that has
 * pixels, x at the last tap, whose positions are the furthest ahead. */
static void fetch_ahead(const struct block *b, struct tile_pixels *p, int64_t row, int64_t k,
                        bool first)
{
	const struct conv_frame *f = &b->d->f;
	const bool along = b->cols.size < f->y.size[WIDTH], wide_x = b->d->s.wide_x;
	const int64_t rows = f->kernel[DEPTH] * f->kernel[HEIGHT];
	const int64_t by = along ? b->cols.size : b->rows.size;
	const int axis = along ? WIDTH : HEIGHT;
	int64_t x = 0, y = 0;
	if (row == rows - 1 && k == f->kernel[WIDTH] - 1 && (wide_x || first))
		x = by * f->stride[axis] * f->x.step[axis];
	if (row == rows / 2 && k == 0 && (!wide_x || first))
		y = by * f->y.step[axis];
	p->wide_ahead = wide_x ? x : y;
	p->tall_ahead = wide_x ? y : x;
}

/* The offset of the unit's channels on the tall side, in elements of a row or in pairs, for column
 * c of y and tap k. */
static int64_t tall_place(const struct block *b, const struct direct_unit *u, int64_t k, int64_t c)
{
	const struct direct *d = b->d;
	const struct conv_frame *f = &d->f;
	const int64_t x = conv_frame_at(f, WIDTH, k, c);
	if (!d->bf16)
		return u->tall.at + (d->s.wide_x ? c * f->y.step[WIDTH] : x * f->x.step[WIDTH]);
	const struct conv_range own = { b->cols.at, b->cols.at + b->cols.size };
	return TILE_VECTOR * (d->s.wide_x ? (c - own.lo) / 2 : x - conv_frame_reach(f, WIDTH, own).lo);
}

/* Sums all taps of kernel row number `row` over the rows found, for one wide tile. */
static void sum_row(const struct block *b, const struct direct_unit *u, struct tile_pixels *p,
                    struct part v, int64_t row, float *sum)
{
	const struct direct *d = b->d;
	const struct conv_frame *f = &d->f;
	const int64_t end = b->cols.at + b->cols.size;
	for (int64_t k = 0; k < f->kernel[WIDTH]; k++) {
		struct conv_range c = conv_frame_range(f, WIDTH, k);
		c.lo = c.lo > b->cols.at ? c.lo : b->cols.at;
		c.hi = c.hi < end ? c.hi : end;
		if (c.lo >= c.hi)
			continue;
		const int64_t x = conv_frame_at(f, WIDTH, k, c.lo) * f->x.step[WIDTH];
		const int64_t y = c.lo * f->y.step[WIDTH];
		p->len = c.hi - c.lo;
		p->head = d->s.wide_x && (c.lo - b->cols.at) % 2;
		fetch_ahead(b, p, row, k, v.at == 0);
		sum_tile(d, u, p, v, u->wide.at * TILE_VECTOR + (d->s.wide_x ? x : y),
		         tall_place(b, u, k, c.lo),
		         direct_tile_sums(d, u, v, row * f->kernel[WIDTH] + k, sum));
	}
}

static void sum_block(struct block *b, const struct direct_unit *u, float *sum)
{
	const struct conv_frame *f = &b->d->f;
	const int64_t xstep = f->stride[WIDTH] * f->x.step[WIDTH], ystep = f->y.step[WIDTH];
	const int64_t tiles = conv_split_tiles(u->wide.size);
	struct tile_pixels p;
	p.wide_step = b->d->s.wide_x ? xstep : ystep;
	p.tall_step = b->d->s.wide_x ? ystep : xstep;
	if (b->d->bf16)
		p.tall_step = TILE_VECTOR * (b->d->s.wide_x ? 1 : 2 * f->stride[WIDTH]);
	for (int64_t row = 0; row < f->kernel[DEPTH] * f->kernel[HEIGHT]; row++) {
		find_rows(b, row / f->kernel[HEIGHT], row % f->kernel[HEIGHT], &p);
		for (int64_t i = 0; i < tiles && p.n; i++) {
			const struct part v = conv_split_tile(u->wide.size, i);
			const int64_t n = direct_tall_tiles(u->tall.size, v.size);
			if (b->d->bf16 && b->paired != n)
				pair_rows(b, u, n, &p);
			sum_row(b, u, &p, v, row, sum);
		}
	}
}

SIMD_CLONES(void, add_pixel, (const float *restrict y, int64_t n, float *restrict sum),
            (y, n, sum))
{
	for (int64_t k = 0; k < n; k++)
		sum[k] += y[k];
}

SIMD_CLONES(void, add_pixel_bf16, (const uint16_t *restrict y, int64_t n, float *restrict sum),
            (y, n, sum))
{
	for (int64_t k = 0; k < n; k++) {
		const union {
			uint32_t u;
			float f;
		} v = { (uint32_t)y[k] << 16 };
		sum[k] += v.f;
	}
}

static void sum_bias(const struct block *b, struct part c, float *sum)
{
	const struct conv_frame *f = &b->d->f;
	const int64_t height = f->y.size[HEIGHT], depth = f->y.size[DEPTH];
	for (int64_t r = b->rows.at; r < b->rows.at + b->rows.size; r++) {
		const int64_t row = r / height / depth * f->y.image +
				    r / height % depth * f->y.step[DEPTH] +
				    r % height * f->y.step[HEIGHT] + c.at;
		for (int64_t i = 0; i < b->cols.size; i++) {
			const void *y = row_at(b->y, b->d->bf16, row + (b->cols.at + i) * f->y.step[WIDTH]);
			if (b->d->bf16)
				add_pixel_bf16(y, c.size, sum);
			else
				add_pixel(y, c.size, sum);
		}
	}
}

void direct_sum(const struct direct *d, const struct direct_unit *u, const struct conv_args *a,
                uint32_t *pairs, float *sum)
{
	struct block b = { .d = d, .x = a->x, .y = a->y,
			   .pairs = pairs + omp_get_thread_num() * d->pairs };
	memset(sum, 0, sizeof *sum * (size_t)d->unit_floats);
	for (int64_t i = u->blocks.at; i < u->blocks.at + u->blocks.size; i++) {
		b.rows = part_of(d->f.n * d->f.y.size[DEPTH] * d->f.y.size[HEIGHT],
		                 d->s.row_blocks, i / d->s.col_blocks);
		b.cols = part_of(d->f.y.size[WIDTH], d->s.col_blocks, i % d->s.col_blocks);
		sum_block(&b, u, sum);
		if (u->bias)
			sum_bias(&b, direct_bias_part(d, u), sum + d->unit_floats - d->bias_floats);
	}
}
