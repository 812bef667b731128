/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gradient of the weights, directly: dw[tap] is the sum over pixels of outer products of x at
 * the place the tap reads and dy. A tile of dw stays in registers while a block of pixels goes by
 * (conv_tile.h), a group of tiles stays in a core's cache while a chunk of the pixels goes by; a
 * unit of work is one of both. Sums are added up in three levels (block, chunk, image), which
 * also keeps rounding small. Padding is never touched: each tap has the range of pixels it is
 * good for. Strides and dilation are steps through x.
 *
 * With few channels a tile would be low, so neighbouring kernel columns are taken for channels:
 * in a row of pixels without gaps they stand side by side. Rows get zeros at both ends for that, in
 * a copy (`merged`).
 *
 * In bf16 neighbouring pixels of a row are multiplied in pairs. A row of the tall side is paired
 * with itself, shifted by the step from one output pixel to the next, so that a pair can begin at any
 * pixel: a tap then finds its pairs wherever it starts. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "backend/device.h"
#include "base/simd.h"
#include "op/conv_code.h"
#include "op/conv_frame.h"
#include "op/conv_geom.h"
#include "op/conv_split.h"
#include "op/conv_tile.h"
#include "op/conv_weights.h"

struct direct {
	struct conv_kernel base;
	struct conv_frame f;
	struct conv_split s;
	struct conv_weights w;
	const int64_t *wide_at, *tall_at;    /* in dw, by channel of each side */
	const int64_t *tap_at;
	const bool *run;             /* by vector of the wide side: its elements are neighbours in dw */
	bool bias, half;
	int64_t row_pairs, tile_pairs, pairs;        /* half: of a row, a tile, a block */
	int64_t unit_floats;         /* sums of a unit; those of the bias stand last */
	int64_t bias_floats;
	int64_t sums;                /* units that have sums at the same time */
	struct conv_frame original;  /* merged: of x before the copy */
	int64_t copy_floats;
};

/* --- plan --- */

/* x becomes a copy with rows padded, and a kernel row one tap of kernel columns x channels. */
static void merge_columns(struct conv_frame *f)
{
	const int64_t columns = (f->y.size[WIDTH] - 1) * f->stride[WIDTH] + f->kernel[WIDTH];

	f->x.size[WIDTH] = columns - f->kernel[WIDTH] + 1;
	f->x.step[WIDTH] = f->ci;
	f->x.step[HEIGHT] = columns * f->ci;
	f->x.step[DEPTH] = f->x.step[HEIGHT] * f->x.size[HEIGHT];
	f->x.image = f->x.step[DEPTH] * f->x.size[DEPTH];
	f->pad[WIDTH] = 0;
	f->kernel[WIDTH] = 1;
}

static const int64_t *merged_tall(struct arena *arena, const struct direct *d, int64_t columns)
{
	int64_t *t = ARENA_ARRAY(arena, int64_t, columns * d->f.ci);
	for (int64_t k = 0; k < columns; k++)
		for (int64_t c = 0; c < d->f.ci; c++)
			t[k * d->f.ci + c] = d->w.tap[k] + d->w.i[c];
	return t;
}

static const int64_t *merged_taps(struct arena *arena, const struct direct *d, int64_t columns)
{
	int64_t *t = ARENA_ARRAY(arena, int64_t, d->s.taps);
	for (int64_t k = 0; k < d->s.taps; k++)
		t[k] = d->w.tap[k * columns];
	return t;
}

static void set_tables(struct direct *d, struct arena *arena)
{
	bool *run = ARENA_ARRAY(arena, bool, d->s.vectors);

	d->wide_at = d->s.wide_x ? d->w.i : d->w.o;
	d->tall_at = d->s.wide_x ? d->w.o : d->w.i;
	d->tap_at = d->w.tap;
	if (d->s.merged) {
		d->tall_at = merged_tall(arena, d, d->f.kernel[WIDTH]);
		d->tap_at = merged_taps(arena, d, d->f.kernel[WIDTH]);
	}
	for (int64_t v = 0; v < d->s.vectors; v++) {
		const int64_t first = v * TILE_VECTOR;
		run[v] = true;
		for (int64_t c = first + 1; c < d->s.wide && c < first + TILE_VECTOR; c++)
			run[v] &= d->wide_at[c] == d->wide_at[c - 1] + 1;
	}
	d->run = run;
}

static void set_sums(struct direct *d, int threads)
{
	const struct conv_split *s = &d->s;
	const int64_t tall = part_of(s->tall, s->tall_groups, 0).size;
	const int64_t wide = part_of(s->vectors, s->wide_groups, 0).size * TILE_VECTOR;

	d->bias_floats = (s->wide_x ? tall : wide) + TILE_VECTOR;
	d->unit_floats = (tall * wide * s->taps + d->bias_floats + 15) / 16 * 16;
	d->sums = s->chunks > 1 ? s->chunks * s->tall_groups * s->wide_groups : threads;
}

/* Tiles along the tall side, beside v vectors. */
static int64_t tall_tiles(int64_t size, int64_t v)
{
	return (size + tile_rows((int)v) - 1) / tile_rows((int)v);
}

static void set_pairs(struct direct *d)
{
	const struct conv_frame *f = &d->f;
	const int64_t tall = part_of(d->s.tall, d->s.tall_groups, 0).size;
	const int64_t reach = conv_frame_at(f, WIDTH, f->kernel[WIDTH] - 1, d->s.block_cols - 1) +
			      f->pad[WIDTH] + 1;

	d->row_pairs = TILE_VECTOR * (d->s.wide_x ? (d->s.block_cols + 1) / 2 : reach);
	d->tile_pairs = d->row_pairs * d->s.block_rows;
	d->pairs = d->tile_pairs * tall_tiles(tall, TILE_MAXV);
}

static bool takes(const struct conv_task *t, struct conv_frame *f)
{
	const bool half = t->dtype == DTYPE_BF16;

	return t->kind == CONV_BACKWARD_WEIGHTS && (half || t->dtype == DTYPE_F32) &&
	       (half ? tile_half_supported() : tile_supported()) && conv_frame_make(f, t);
}

static int choose(struct conv_task *t)
{
	const struct shape xs = conv_x_shape(&t->geom), ys = conv_y_shape(&t->geom);
	struct layout_rows rows;
	struct conv_frame f;

	if (!t->x.set || !layout_rows(&t->x, &xs, &rows))
		t->x = layout_native(&xs);
	if (!t->y.set || !layout_rows(&t->y, &ys, &rows))
		t->y = layout_native(&ys);
	return takes(t, &f);
}

static double seconds(const struct conv_task *t)
{
	struct conv_frame f;
	struct conv_split s;

	if (!takes(t, &f))
		return INFINITY;
	conv_split_make(&s, &f, t->dtype == DTYPE_BF16);
	return s.seconds;
}

static int plan(struct kplan *k, const struct conv_task *t)
{
	struct direct *d = ARENA_NEW(k->arena, struct direct);
	int64_t floats;

	if (!takes(t, &d->f) || !conv_weights_make(&d->w, k->arena, &t->w, &t->geom))
		return 0;
	d->base = (struct conv_kernel){ &conv_direct_weights, t->kind };
	d->original = d->f;
	d->bias = t->bias;
	d->half = t->dtype == DTYPE_BF16;
	conv_split_make(&d->s, &d->f, d->half);
	set_tables(d, k->arena);
	set_sums(d, k->dev->threads);
	floats = d->sums * d->unit_floats;
	if (d->s.merged) {
		merge_columns(&d->f);
		d->copy_floats = (d->f.n * d->f.x.image + d->half) / (d->half ? 2 : 1);
		floats += d->copy_floats;
	}
	if (d->half) {
		set_pairs(d);
		floats += d->pairs * k->dev->threads;
	}
	k->state = d;
	k->ws_bytes = (size_t)floats * sizeof(float);
	k->impl = d->half ? "direct:avx512_bf16" : "direct:avx512";
	return 1;
}

/* --- the sums of a unit --- */

struct unit {
	struct part tall, wide;      /* channels; vectors */
	struct part blocks;
	bool bias;                   /* this one makes the sums of the bias too */
};

static struct unit unit_at(const struct direct *d, int64_t i)
{
	const struct conv_split *s = &d->s;
	const int64_t group = i % (s->tall_groups * s->wide_groups);
	const int64_t chunk = i / (s->tall_groups * s->wide_groups);
	const int64_t t = group / s->wide_groups, w = group % s->wide_groups;

	return (struct unit){ part_of(s->tall, s->tall_groups, t),
			      part_of(s->vectors, s->wide_groups, w),
			      part_of(s->row_blocks * s->col_blocks, s->chunks, chunk),
			      d->bias && (s->wide_x ? w : t) == 0 };
}

/* The sums of tap `tap` of a wide tile: rows x 16 v. */
static float *tile_sums(const struct direct *d, const struct unit *u, struct part v, int64_t tap,
                        float *sum)
{
	return sum + TILE_VECTOR * u->tall.size * (v.at * d->s.taps + tap * v.size);
}

static uint16_t tile_mask(const struct direct *d, int64_t vector)
{
	const int64_t left = d->s.wide - vector * TILE_VECTOR;
	return left < TILE_VECTOR ? (uint16_t)((1 << left) - 1) : 0xffff;
}

/* A block of output pixels: rows of y counted through all images, and columns. */
struct block {
	const struct direct *d;
	const void *x, *y;
	uint32_t *pairs;             /* half: of the tall side */
	const void *tall[TILE_SEGMENTS];     /* half: rows before they were paired */
	int64_t paired;              /* half: for so many tiles */
	struct part rows, cols;
};

static const void *at(const struct direct *d, const void *p, int64_t i)
{
	return (const char *)p + i * (d->half ? 2 : 4);
}

/* The rows of pixels of the block for which kernel row (kd, kh) meets x. */
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
		const void *x = at(b->d, b->x, n * f->x.image + xz * f->x.step[DEPTH] +
		                               xh * f->x.step[HEIGHT]);
		const void *y = at(b->d, b->y, n * f->y.image + z * f->y.step[DEPTH] +
		                               h * f->y.step[HEIGHT]);
		p->wide[p->n] = b->d->s.wide_x ? x : y;
		b->tall[p->n] = p->tall[p->n] = b->d->s.wide_x ? y : x;
		p->n++;
	}
}

/* Pairs the unit's channels of the rows found for n tiles, and has p point there. */
static void pair_rows(struct block *b, const struct unit *u, int64_t n, struct tile_pixels *p)
{
	const struct direct *d = b->d;
	const struct conv_frame *f = &d->f;
	const bool y = d->s.wide_x;
	const struct conv_range own = { b->cols.at, b->cols.at + b->cols.size };
	const struct conv_range c = y ? own : conv_frame_reach(f, WIDTH, own);
	struct tile_row r = { .n = c.hi - c.lo, .every = y ? 2 : 1, .partner = y ? 1 : f->stride[WIDTH] };

	r.step = y ? f->y.step[WIDTH] : f->x.step[WIDTH];
	for (int i = 0; i < p->n; i++) {
		p->tall[i] = b->pairs + i * d->row_pairs;
		for (int64_t t = 0; t < n; t++) {
			const struct part rows = part_of(u->tall.size, n, t);
			r.from = at(d, b->tall[i], c.lo * r.step + u->tall.at + rows.at);
			r.channels = (int)rows.size;
			tile_pair(&r, b->pairs + i * d->row_pairs + t * d->tile_pairs);
		}
	}
	b->paired = n;
}

/* wide_at, tall_at: of the unit's first channels. */
static void sum_tile(const struct direct *d, const struct unit *u, struct tile_pixels *p,
                     struct part v, int64_t wide_at, int64_t tall_at, float *sum)
{
	const int64_t first = u->wide.at + v.at;
	const uint16_t mask = tile_mask(d, first + v.size - 1);
	const int64_t n = tall_tiles(u->tall.size, v.size);

	for (int64_t i = 0; i < n; i++) {
		const struct part r = part_of(u->tall.size, n, i);
		const int nv = (int)v.size, nr = (int)r.size;
		if (i > 0)
			p->wide_ahead = 0;
		(d->half ? tile_outer_half(nv, nr) : tile_outer(nv, nr))(
			p, wide_at + v.at * TILE_VECTOR,
			tall_at + (d->half ? i * d->tile_pairs : r.at), mask,
			sum + r.at * v.size * TILE_VECTOR);
	}
}

/* While the first tiles of a block use its pixels, those of the next are fetched: the tall side in
 * the first wide tile, the wide side in each; y at the first tap that has pixels, x at the last,
 * which is ahead of the others. */
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

/* Where the unit's channels of the tall side stand, in row elements or pairs, for column c of y and
 * tap k. */
static int64_t tall_place(const struct block *b, const struct unit *u, int64_t k, int64_t c)
{
	const struct direct *d = b->d;
	const struct conv_frame *f = &d->f;
	const int64_t x = conv_frame_at(f, WIDTH, k, c);

	if (!d->half)
		return u->tall.at + (d->s.wide_x ? c * f->y.step[WIDTH] : x * f->x.step[WIDTH]);
	const struct conv_range own = { b->cols.at, b->cols.at + b->cols.size };
	return TILE_VECTOR * (d->s.wide_x ? (c - own.lo) / 2 : x - conv_frame_reach(f, WIDTH, own).lo);
}

/* All taps of kernel row number `row` over the rows found, for one wide tile. */
static void sum_row(const struct block *b, const struct unit *u, struct tile_pixels *p,
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
		         tile_sums(d, u, v, row * f->kernel[WIDTH] + k, sum));
	}
}

static void sum_block(struct block *b, const struct unit *u, float *sum)
{
	const struct conv_frame *f = &b->d->f;
	const int64_t xstep = f->stride[WIDTH] * f->x.step[WIDTH], ystep = f->y.step[WIDTH];
	const int64_t tiles = conv_split_tiles(u->wide.size);
	struct tile_pixels p;

	p.wide_step = b->d->s.wide_x ? xstep : ystep;
	p.tall_step = b->d->s.wide_x ? ystep : xstep;
	if (b->d->half)
		p.tall_step = TILE_VECTOR * (b->d->s.wide_x ? 1 : 2 * f->stride[WIDTH]);
	for (int64_t row = 0; row < f->kernel[DEPTH] * f->kernel[HEIGHT]; row++) {
		find_rows(b, row / f->kernel[HEIGHT], row % f->kernel[HEIGHT], &p);
		for (int64_t i = 0; i < tiles && p.n; i++) {
			const struct part v = conv_split_tile(u->wide.size, i);
			const int64_t n = tall_tiles(u->tall.size, v.size);
			if (b->d->half && b->paired != n)
				pair_rows(b, u, n, &p);
			sum_row(b, u, &p, v, row, sum);
		}
	}
}

/* Channels of dy that the unit sums up for the bias. */
static struct part bias_part(const struct direct *d, const struct unit *u)
{
	const int64_t at = u->wide.at * TILE_VECTOR, size = u->wide.size * TILE_VECTOR;
	if (d->s.wide_x)
		return u->tall;
	return (struct part){ at, at + size < d->s.wide ? size : d->s.wide - at };
}

SIMD_CLONES static void add_pixel(const float *restrict y, int64_t n, float *restrict sum)
{
	for (int64_t k = 0; k < n; k++)
		sum[k] += y[k];
}

SIMD_CLONES static void add_pixel_half(const uint16_t *restrict y, int64_t n, float *restrict sum)
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
			const void *y = at(b->d, b->y, row + (b->cols.at + i) * f->y.step[WIDTH]);
			if (b->d->half)
				add_pixel_half(y, c.size, sum);
			else
				add_pixel(y, c.size, sum);
		}
	}
}

static void sum_unit(const struct direct *d, const struct unit *u, const struct conv_args *a,
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
			sum_bias(&b, bias_part(d, u), sum + d->unit_floats - d->bias_floats);
	}
}

/* --- from sums to dw --- */

/* The sums of one tap of a wide tile. */
static void store_tile(const struct direct *d, const struct unit *u, struct part v, int64_t tap,
                       const float *sum, float *dw)
{
	for (int64_t r = 0; r < u->tall.size; r++)
		for (int64_t i = 0; i < v.size; i++, sum += TILE_VECTOR) {
			const int64_t vector = u->wide.at + v.at + i, c = vector * TILE_VECTOR;
			const int64_t n = d->s.wide - c < TILE_VECTOR ? d->s.wide - c : TILE_VECTOR;
			float *to = dw + d->tap_at[tap] + d->tall_at[u->tall.at + r];
			if (d->run[vector])
				memcpy(to + d->wide_at[c], sum, sizeof *sum * (size_t)n);
			else
				for (int64_t k = 0; k < n; k++)
					to[d->wide_at[c + k]] = sum[k];
		}
}

static void store_tap(const struct direct *d, const struct unit *u, int64_t tap, float *sum,
                      float *dw)
{
	for (int64_t i = 0; i < conv_split_tiles(u->wide.size); i++) {
		const struct part v = conv_split_tile(u->wide.size, i);
		store_tile(d, u, v, tap, tile_sums(d, u, v, tap, sum), dw);
	}
}

static void add(float *restrict to, const float *restrict from, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		to[i] += from[i];
}

/* Adds the chunks' sums of one tap of a group to those of the first chunk. */
static void add_chunks(const struct direct *d, const struct unit *u, int64_t tap, float *sum)
{
	const int64_t groups = d->s.tall_groups * d->s.wide_groups;

	for (int64_t i = 0; i < conv_split_tiles(u->wide.size); i++) {
		const struct part v = conv_split_tile(u->wide.size, i);
		float *to = tile_sums(d, u, v, tap, sum);
		for (int64_t c = 1; c < d->s.chunks; c++)
			add(to, to + c * groups * d->unit_floats,
			    u->tall.size * v.size * TILE_VECTOR);
	}
}

static void store_bias(const struct direct *d, const struct unit *u, const float *sum, float *bias)
{
	const struct part c = bias_part(d, u);
	memcpy(bias + c.at, sum + d->unit_floats - d->bias_floats, sizeof *sum * (size_t)c.size);
}

static void run_chunks(const struct direct *d, const struct conv_args *a, uint32_t *pairs,
                       float *sums)
{
	const int64_t groups = d->s.tall_groups * d->s.wide_groups, taps = d->s.taps;

	/* Static: the block fetched ahead at the end of a unit is the next one's first. */
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < groups * d->s.chunks; i++) {
		const struct unit u = unit_at(d, i);
		sum_unit(d, &u, a, pairs, sums + i * d->unit_floats);
	}
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < groups * taps; i++) {
		const struct unit u = unit_at(d, i / taps);
		float *sum = sums + i / taps * d->unit_floats;
		add_chunks(d, &u, i % taps, sum);
		store_tap(d, &u, i % taps, sum, a->w);
	}
	for (int64_t i = 0; i < groups && d->bias; i++) {
		const struct unit u = unit_at(d, i);
		float *sum = sums + (i + 1) * d->unit_floats - d->bias_floats;
		if (!u.bias)
			continue;
		for (int64_t c = 1; c < d->s.chunks; c++)
			add(sum, sum + c * groups * d->unit_floats, d->bias_floats);
		store_bias(d, &u, sums + i * d->unit_floats, a->bias);
	}
}

static void run_groups(const struct direct *d, const struct conv_args *a, uint32_t *pairs,
                       float *sums)
{
#pragma omp parallel for schedule(dynamic)
	for (int64_t i = 0; i < d->s.tall_groups * d->s.wide_groups; i++) {
		const struct unit u = unit_at(d, i);
		float *sum = sums + omp_get_thread_num() * d->unit_floats;
		sum_unit(d, &u, a, pairs, sum);
		for (int64_t tap = 0; tap < d->s.taps; tap++)
			store_tap(d, &u, tap, sum, a->w);
		if (u.bias)
			store_bias(d, &u, sum, a->bias);
	}
}

/* Rows of x with zeros at both ends, as wide as the windows reach. */
static void copy_rows(const struct direct *d, const void *x, void *copy)
{
	const struct conv_frame *f = &d->f, *o = &d->original;
	const int64_t rows = f->n * f->x.size[DEPTH] * f->x.size[HEIGHT];
	const int64_t columns = f->x.step[HEIGHT] / f->ci;
	const size_t pixel = (size_t)f->ci * (d->half ? 2 : 4);

#pragma omp parallel for schedule(static)
	for (int64_t r = 0; r < rows; r++) {
		char *to = (char *)copy + (size_t)(r * columns) * pixel;
		for (int64_t i = 0; i < columns; i++, to += pixel) {
			const int64_t column = i - o->pad[WIDTH];
			const int64_t from = r * o->x.step[HEIGHT] + column * o->x.step[WIDTH];
			if (column >= 0 && column < o->x.size[WIDTH])
				memcpy(to, at(d, x, from), pixel);
			else
				memset(to, 0, pixel);
		}
	}
}

static int run(const struct kplan *k, const struct kargs *args)
{
	const struct direct *d = k->state;
	struct conv_args a = conv_args_get(d->base.kind, k, args);
	float *sums = args->ws, *copy = sums + d->sums * d->unit_floats;
	uint32_t *pairs = args->ws;

	pairs += d->sums * d->unit_floats;
	if (d->s.merged) {
		copy_rows(d, a.x, copy);
		a.x = copy;
		pairs += d->copy_floats;
	}
	if (!d->w.dense)
		memset(a.w, 0, sizeof(float) * (size_t)d->w.elements);
	if (d->s.chunks > 1)
		run_chunks(d, &a, pairs, sums);
	else
		run_groups(d, &a, pairs, sums);
	return 0;
}

const struct conv_code conv_direct_weights = {
	"direct", choose, seconds, plan, run, NULL, .slices = true
};
