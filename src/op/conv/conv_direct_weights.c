/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The direct gradient to the weights: dw[tap] is the sum over pixels of outer products of dy and of
 * x at the position that the tap reads. A tile of dw stays in registers for a block of pixels
 * (conv_tile.h), and a group of tiles stays in a core's cache for a chunk of the pixels; a unit of
 * work is one group and one chunk. Sums are added in three levels (block, chunk, image), which also
 * keeps rounding errors small. Padding is never read: each tap has its range of valid pixels.
 * Strides and dilation are strides through x.
 *
 * With few channels a tile would have few rows, so adjacent kernel columns count as additional
 * channels: in a row of pixels without gaps they are adjacent in memory. For that, rows are copied
 * with zeros at both ends (`merged`).
 *
 * In bf16 adjacent pixels of a row are multiplied in pairs. A row of the tall side is paired with
 * itself, shifted by the distance of two output pixels, so that a pair can begin at any pixel,
 * wherever a tap starts. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "backend/device.h"
#include "op/conv/conv_args.h"
#include "op/conv/conv_direct.h"
#include "op/conv/conv_shape.h"

/* --- plan --- */

/* x becomes a copy with padded rows, and a kernel row becomes one tap with kernel columns x
 * channels. */
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

static void set_pairs(struct direct *d)
{
	const struct conv_frame *f = &d->f;
	const int64_t tall = part_of(d->s.tall, d->s.tall_groups, 0).size;
	const int64_t reach = conv_frame_at(f, WIDTH, f->kernel[WIDTH] - 1, d->s.block_cols - 1) +
			      f->pad[WIDTH] + 1;
	d->row_pairs = TILE_VECTOR * (d->s.wide_x ? (d->s.block_cols + 1) / 2 : reach);
	d->tile_pairs = d->row_pairs * d->s.block_rows;
	d->pairs = d->tile_pairs * direct_tall_tiles(tall, TILE_MAXV);
}

static bool takes(const struct conv_task *t, struct conv_frame *f)
{
	const bool bf16 = t->dtype == DTYPE_BF16;
	return t->kind == CONV_BACKWARD_WEIGHTS && (bf16 || t->dtype == DTYPE_F32) &&
	       (bf16 ? tile_bf16_supported() : tile_supported()) && conv_frame_make(f, t);
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

/* replaces CONV_DOT_RATIO for dot products on a CPU with a matrix unit */
#define DOT_BESIDE_UNIT 0.6

static double seconds(const struct conv_task *t)
{
	struct conv_frame f;
	struct conv_split s;
	if (!takes(t, &f))
		return INFINITY;
	conv_split_make(&s, &f, t->dtype == DTYPE_BF16);
	return s.seconds * (conv_has_matrix_unit(t) ? CONV_DOT_RATIO / DOT_BESIDE_UNIT : 1);
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
	d->bf16 = t->dtype == DTYPE_BF16;
	conv_split_make(&d->s, &d->f, d->bf16);
	set_tables(d, k->arena);
	set_sums(d, k->dev->threads);
	floats = d->sums * d->unit_floats;
	if (d->s.merged) {
		merge_columns(&d->f);
		d->copy_floats = (d->f.n * d->f.x.image + d->bf16) / (d->bf16 ? 2 : 1);
		floats += d->copy_floats;
	}
	if (d->bf16) {
		set_pairs(d);
		floats += d->pairs * k->dev->threads;
	}
	k->state = d;
	k->ws_bytes = (size_t)floats * sizeof(float);
	k->impl = d->bf16 ? "direct:avx512_bf16" : "direct:avx512";
	return 1;
}

/* --- run --- */

static struct direct_unit unit_at(const struct direct *d, int64_t i)
{
	const struct conv_split *s = &d->s;
	const int64_t group = i % (s->tall_groups * s->wide_groups);
	const int64_t chunk = i / (s->tall_groups * s->wide_groups);
	const int64_t t = group / s->wide_groups, w = group % s->wide_groups;
	return (struct direct_unit){ part_of(s->tall, s->tall_groups, t),
			      part_of(s->vectors, s->wide_groups, w),
			      part_of(s->row_blocks * s->col_blocks, s->chunks, chunk),
			      d->bias && (s->wide_x ? w : t) == 0 };
}

/* Stores the sums of one tap of a wide tile to dw. */
static void store_tile(const struct direct *d, const struct direct_unit *u, struct part v,
                       int64_t tap, const float *sum, float *dw)
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

static void store_tap(const struct direct *d, const struct direct_unit *u, int64_t tap, float *sum,
                      float *dw)
{
	for (int64_t i = 0; i < conv_split_tiles(u->wide.size); i++) {
		const struct part v = conv_split_tile(u->wide.size, i);
		store_tile(d, u, v, tap, direct_tile_sums(d, u, v, tap, sum), dw);
	}
}

static void add(float *restrict to, const float *restrict from, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		to[i] += from[i];
}

/* Adds the sums of all chunks, for one tap of a group, to those of the first chunk. */
static void add_chunks(const struct direct *d, const struct direct_unit *u, int64_t tap, float *sum)
{
	const int64_t groups = d->s.tall_groups * d->s.wide_groups;
	for (int64_t i = 0; i < conv_split_tiles(u->wide.size); i++) {
		const struct part v = conv_split_tile(u->wide.size, i);
		float *to = direct_tile_sums(d, u, v, tap, sum);
		for (int64_t c = 1; c < d->s.chunks; c++)
			add(to, to + c * groups * d->unit_floats,
			    u->tall.size * v.size * TILE_VECTOR);
	}
}

static void store_bias(const struct direct *d, const struct direct_unit *u, const float *sum,
                       float *bias)
{
	const struct part c = direct_bias_part(d, u);
	memcpy(bias + c.at, sum + d->unit_floats - d->bias_floats, sizeof *sum * (size_t)c.size);
}

static void run_chunks(const struct direct *d, const struct conv_args *a, uint32_t *pairs,
                       float *sums)
{
	const int64_t groups = d->s.tall_groups * d->s.wide_groups, taps = d->s.taps;

	/* Static schedule: the block prefetched at the end of a unit is the first one of the next
	 * unit. */
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < groups * d->s.chunks; i++) {
		const struct direct_unit u = unit_at(d, i);
		direct_sum(d, &u, a, pairs, sums + i * d->unit_floats);
	}
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < groups * taps; i++) {
		const struct direct_unit u = unit_at(d, i / taps);
		float *sum = sums + i / taps * d->unit_floats;
		add_chunks(d, &u, i % taps, sum);
		store_tap(d, &u, i % taps, sum, a->w);
	}
	for (int64_t i = 0; i < groups && d->bias; i++) {
		const struct direct_unit u = unit_at(d, i);
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
		const struct direct_unit u = unit_at(d, i);
		float *sum = sums + omp_get_thread_num() * d->unit_floats;
		direct_sum(d, &u, a, pairs, sum);
		for (int64_t tap = 0; tap < d->s.taps; tap++)
			store_tap(d, &u, tap, sum, a->w);
		if (u.bias)
			store_bias(d, &u, sum, a->bias);
	}
}

/* Copies rows of x with zeros at both ends, as far as the windows reach. */
static void copy_rows(const struct direct *d, const void *x, void *copy)
{
	const struct conv_frame *f = &d->f, *o = &d->original;
	const int64_t rows = f->n * f->x.size[DEPTH] * f->x.size[HEIGHT];
	const int64_t columns = f->x.step[HEIGHT] / f->ci;
	const size_t pixel = (size_t)f->ci * (d->bf16 ? 2 : 4);

#pragma omp parallel for schedule(static)
	for (int64_t r = 0; r < rows; r++) {
		char *to = (char *)copy + (size_t)(r * columns) * pixel;
		for (int64_t i = 0; i < columns; i++, to += pixel) {
			const int64_t column = i - o->pad[WIDTH];
			const int64_t from = r * o->x.step[HEIGHT] + column * o->x.step[WIDTH];
			if (column >= 0 && column < o->x.size[WIDTH])
				memcpy(to, row_at(x, d->bf16, from), pixel);
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

const struct conv_algorithm conv_direct_weights = {
	"direct", choose, seconds, plan, run, NULL, .slices = true
};
