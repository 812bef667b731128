/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gradients of 1x1 convolutions as matrix products, with the weights in the layout that the forward
 * convolution uses: output channels are adjacent. oneDNN needs adjacent input channels for the
 * gradient to the input, and a third layout for the gradient to the weights, so each step would
 * reorder all weights twice. For small images that takes half as long as the products.
 *
 *   input    dx (pixels, I) = dy (pixels, O) w (O, I): 32 input channels of w at a time are turned
 *            over into a panel that stays in a core's cache while pixels go by
 *   weights  dw (I, O) = x^T dy: 32 output channels of dy at a time are copied to a panel; a tile
 *            of dw is in registers for a block of pixels, and written once
 *
 * Pixels are rows, which may have gaps between them. Each sum is computed by one thread, in an
 * order that depends only on the shape. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "backend/device.h"
#include "base/round.h"
#include "op/conv/conv_args.h"
#include "op/conv/conv_algorithm.h"
#include "op/conv/conv_shape.h"
#include "op/conv/conv_point_tile.h"
#include "op/conv/conv_split.h"
#include "op/conv/conv_tile.h"
#include "op/conv/conv_weights.h"

#define WIDE (POINT_MAXV * POINT_VECTOR)
#define DEPTH_MOST 384         /* rows of a panel, at most: 48 KiB */
#define CHUNK_BYTES (384 << 10) /* bytes of the pixels that are multiplied by all panels before the
                                 * next ones are read */
/* Gradient to the weights: with more pixels than this, the weights are the smaller part of the
 * traffic. */
#define PIXELS_MOST 1024
#define CHANNELS 392           /* channels of x for which a block of pixels stays in a core's
                                * cache */

struct point {
	struct conv_kernel base;
	int64_t pixels, ci, co;
	int64_t x_step, y_step, sum_step;    /* elements from pixel to pixel */
	int64_t w_row;               /* elements from input channel to input channel */
	struct conv_weights w;
	const int64_t *group;        /* offset of each group of 16 output channels */
	int64_t groups, whole;       /* groups with channels; groups including those of padding */
	int64_t panels, chunks;      /* units of work */
	int64_t depths;              /* parts of the summed axis (output channels or pixels), each of
	                              * which is one panel */
	size_t panel_floats;
};

/* --- supported convolutions --- */

static bool is_point(const struct conv_geom *g)
{
	bool point = g->groups == 1;
	for (int i = 0; i < g->ns; i++)
		point = point && g->kernel[i] == 1 && g->stride[i] == 1 && g->pad_lo[i] == 0 &&
		        g->pad_hi[i] == 0;
	return point;
}

static int64_t pixels_of(const struct conv_geom *g)
{
	int64_t n = g->n;
	for (int i = 0; i < g->ns; i++)
		n *= g->out[i];
	return n;
}

/* Whether output channels are the innermost axis, in whole blocks, and only input channels are
 * outside. */
static bool suits(const struct layout *l, const struct conv_geom *g)
{
	return l->set && l->nd == g->ns + 2 && l->dims[0] == g->co && l->dims[1] == g->ci &&
	       l->nblk == 1 && l->blk_dim[0] == 0 && l->blk[0] % POINT_VECTOR == 0;
}

/* The layout used if the weights have another one. */
static struct layout own_layout(const struct conv_geom *g)
{
	const struct shape s = conv_w_shape(g);
	struct layout l = { .set = true, .nd = s.nd, .nblk = 1, .blk = { POINT_VECTOR } };
	for (int d = 0; d < s.nd; d++) {
		l.dims[d] = s.d[d];
		l.stride[d] = d == 1 ? POINT_VECTOR : POINT_VECTOR * g->ci;
	}
	return l;
}

static bool takes(const struct conv_task *t)
{
	const bool weights = t->kind == CONV_BACKWARD_WEIGHTS;
	return t->kind != CONV_FORWARD && t->dtype == DTYPE_F32 && t->result == DTYPE_F32 && !t->bias &&
	       tile_supported() && is_point(&t->geom) && suits(&t->w, &t->geom) &&
	       (!weights || pixels_of(&t->geom) <= PIXELS_MOST);
}

static int choose(struct conv_task *t)
{
	const struct shape xs = conv_x_shape(&t->geom), ys = conv_y_shape(&t->geom);
	struct layout_rows rows;
	if (!t->x.set || !layout_rows(&t->x, &xs, &rows))
		t->x = layout_native(&xs);
	if (!t->y.set || !layout_rows(&t->y, &ys, &rows))
		t->y = layout_native(&ys);
	if (!suits(&t->w, &t->geom) && t->geom.groups == 1)
		t->w = own_layout(&t->geom);
	return takes(t);
}

/* --- division of the work --- */

static void cut_input(struct point *p)
{
	p->depths = ceil_div(p->groups * POINT_VECTOR, DEPTH_MOST);
	const int64_t depth = part_of(p->groups, p->depths, 0).size * POINT_VECTOR;
	const int64_t rows = CHUNK_BYTES / (depth * (int64_t)sizeof(float)) / POINT_ROWS * POINT_ROWS;

	p->panels = ceil_div(p->ci, WIDE);
	p->chunks = ceil_div(p->pixels, rows);
	p->panel_floats = (size_t)(depth * WIDE);
}

static void cut_weights(struct point *p)
{
	p->panels = ceil_div(p->whole, POINT_MAXV);
	p->chunks = ceil_div(p->ci, CHANNELS);
	p->depths = ceil_div(p->pixels, DEPTH_MOST);
	p->panel_floats = (size_t)(part_of(p->pixels, p->depths, 0).size * WIDE);
}

static void cut(struct point *p, const struct conv_task *t)
{
	p->pixels = pixels_of(&t->geom);
	p->ci = t->geom.ci;
	p->co = t->geom.co;
	p->groups = ceil_div(p->co, POINT_VECTOR);
	p->whole = ceil_div(p->co, t->w.blk[0]) * (t->w.blk[0] / POINT_VECTOR);
	if (t->kind == CONV_BACKWARD_DATA)
		cut_input(p);
	else
		cut_weights(p);
}

/* elements per second that the cores pack or transpose */
#define MOVED 20e9

/* Cycles of all tiles: multiply-adds (for a single vector: loads), a call, and loads and stores of
 * sums. */
static double tile_cycles(const struct point *p, double rows, int64_t vectors, double k)
{
	const double two = 14.3 * k + 60 * (double)p->depths, one = 8.5 * k + 50 * (double)p->depths;
	return ceil(rows / POINT_ROWS) * (two * (double)(vectors / 2) + one * (double)(vectors % 2));
}

static double seconds(const struct conv_task *t)
{
	struct point p = { .pixels = 0 };
	if (!takes(t))
		return INFINITY;
	cut(&p, t);
	const double pixels = (double)p.pixels, ci = (double)p.ci, co = (double)p.co;
	const bool input = t->kind == CONV_BACKWARD_DATA;
	const double cycles = input ? tile_cycles(&p, pixels, ceil_div(p.ci, POINT_VECTOR), co) :
	                      tile_cycles(&p, ci, p.whole, pixels);
	return 1.08 * cycles / (CONV_CORES * CONV_HZ) + (input ? ci : pixels) * co * (double)p.chunks /
	       MOVED + 3e-6;
}

/* Offsets of the groups of 16 output channels; the last block is filled up with padding. */
static const int64_t *group_table(struct arena *arena, const struct point *p)
{
	int64_t *t = ARENA_ARRAY(arena, int64_t, p->whole);
	for (int64_t i = 0; i < p->whole; i++)
		t[i] = i < p->groups ? p->w.o[i * POINT_VECTOR] : t[i - 1] + POINT_VECTOR;
	return t;
}

static bool set_steps(struct point *p, const struct conv_task *t)
{
	const struct shape xs = conv_x_shape(&t->geom), ys = conv_y_shape(&t->geom);
	struct layout_rows x, y;
	if (!layout_rows(&t->x, &xs, &x) || !layout_rows(&t->y, &ys, &y))
		return false;
	p->x_step = x.stride;
	p->y_step = y.stride;
	p->sum_step = t->sum_px;
	return !t->sum || (t->sum_dtype == DTYPE_F32 && t->sum_px > 0);
}

static int plan(struct kplan *k, const struct conv_task *t)
{
	struct point *p = ARENA_NEW(k->arena, struct point);
	if (!takes(t) || !set_steps(p, t) || !conv_weights_make(&p->w, k->arena, &t->w, &t->geom))
		return 0;
	p->base = (struct conv_kernel){ &conv_point, t->kind };
	cut(p, t);
	p->group = group_table(k->arena, p);
	p->w_row = t->w.stride[1];
	k->state = p;
	k->ws_bytes = (size_t)k->dev->threads * p->panel_floats * sizeof(float);
	k->impl = "product:avx512";
	return 1;
}

/* The mask of the lanes, in the last of v vectors, that belong to the first n elements. */
static uint16_t mask_of(int64_t n, int v)
{
	const int64_t last = n - (int64_t)(v - 1) * POINT_VECTOR;
	return last >= POINT_VECTOR ? 0xFFFF : last > 0 ? (uint16_t)((1u << last) - 1) : 0;
}

/* --- the gradient of the input --- */

/* Transposes input channels i to i + 16 v - 1 of the output channels in these groups into a
 * panel. */
static void transpose_panel(const struct point *p, const float *w, struct part groups, int64_t i,
                            int v, float *panel)
{
	for (int64_t g = 0; g < groups.size; g++)
		for (int c = 0; c < v; c++) {
			const float *from[POINT_VECTOR];
			for (int l = 0; l < POINT_VECTOR; l++) {
				const int64_t at = i + c * POINT_VECTOR + l;
				from[l] = at < p->ci ? w + p->group[groups.at + g] + p->w.i[at] : NULL;
			}
			point_transpose(from, panel + (g * v * POINT_VECTOR + c) * POINT_VECTOR,
			                (int64_t)v * POINT_VECTOR);
		}
}

/* Multiplies rows of a by one panel. t: set up for the first row. */
static void pass(int64_t rows, int v, struct point_tile t)
{
	const int64_t n = ceil_div(rows, POINT_ROWS);
	for (int64_t i = 0; i < n; i++) {
		const struct part part = part_of(rows, n, i);
		struct point_tile one = t;
		one.a += part.at * t.a_row;
		one.c += part.at * t.c_row;
		one.add = t.add ? t.add + part.at * t.add_row : NULL;
		point_tile(v, (int)part.size)(&one);
	}
}

static void input_unit(const struct point *p, const struct conv_args *a, int64_t unit, float *panel)
{
	const struct part chunk = part_of(p->pixels, p->chunks, unit / p->panels);
	const int64_t i = unit % p->panels * WIDE, left = p->ci - i;
	const int v = left > POINT_VECTOR ? 2 : 1;
	float *x = (float *)a->x + chunk.at * p->x_step + i;
	const float *sum = a->sum ? (const float *)a->sum + chunk.at * p->sum_step + i : NULL;
	for (int64_t d = 0; d < p->depths; d++) {
		const struct part groups = part_of(p->groups, p->depths, d);
		const int64_t first = groups.at * POINT_VECTOR, most = groups.size * POINT_VECTOR;
		transpose_panel(p, a->w, groups, i, v, panel);
		pass(chunk.size, v, (struct point_tile){
			.a = (const float *)a->y + chunk.at * p->y_step + first, .a_row = p->y_step,
			.a_next = 1, .b = panel, .k = p->co - first < most ? p->co - first : most,
			.add = d ? x : sum,
			.add_row = d ? p->x_step : p->sum_step, .c = x, .c_row = p->x_step,
			.wide = POINT_VECTOR,
			.mask = mask_of(left, v) });
	}
}

/* --- the gradient of the weights --- */

/* Copies n channels from o on, for these pixels, to a panel; the rest of it is zero. */
static void copy_panel(const struct point *p, const float *y, struct part pixels, int64_t n, int v,
                       float *panel)
{
	const int64_t wide = (int64_t)v * POINT_VECTOR;
	y += pixels.at * p->y_step;
	for (int64_t m = 0; m < pixels.size; m++, y += p->y_step, panel += wide) {
		if (n == WIDE) {
			memcpy(panel, y, WIDE * sizeof *panel);
			continue;
		}
		memcpy(panel, y, (size_t)n * sizeof *panel);
		memset(panel + n, 0, (size_t)(wide - n) * sizeof *panel);
	}
}

static void weights_unit(const struct point *p, const struct conv_args *a, int64_t unit,
                         float *panel)
{
	const struct part chunk = part_of(p->ci, p->chunks, unit / p->panels);
	const int64_t group = unit % p->panels * POINT_MAXV, o = group * POINT_VECTOR;
	const int v = group + 1 < p->whole ? 2 : 1;
	const int64_t wide = (int64_t)v * POINT_VECTOR, left = p->co - o,
	              n = left < 0 ? 0 : left < wide ? left : wide;
	float *w = (float *)a->w + p->group[group] + p->w.i[chunk.at];
	for (int64_t d = 0; d < p->depths; d++) {
		const struct part pixels = part_of(p->pixels, p->depths, d);
		copy_panel(p, (const float *)a->y + (n ? o : 0), pixels, n, v, panel);
		pass(chunk.size, v, (struct point_tile){
			.a = (const float *)a->x + pixels.at * p->x_step + chunk.at, .a_row = 1,
			.a_next = p->x_step, .b = panel, .k = pixels.size, .add = d ? w : NULL,
			.add_row = p->w_row, .c = w, .c_row = p->w_row,
			.wide = v == 2 ? p->group[group + 1] - p->group[group] : 0, .mask = 0xFFFF });
	}
}

static int run(const struct kplan *k, const struct kargs *a)
{
	const struct point *p = k->state;
	const struct conv_args args = conv_args_get(p->base.kind, k, a);
	const int64_t units = p->panels * p->chunks;

#pragma omp parallel for schedule(dynamic) if (units > 1)
	for (int64_t u = 0; u < units; u++) {
		float *panel = (float *)a->ws + (size_t)omp_get_thread_num() * p->panel_floats;
		if (p->base.kind == CONV_BACKWARD_DATA)
			input_unit(p, &args, u, panel);
		else
			weights_unit(p, &args, u, panel);
	}
	return 0;
}

const struct conv_algorithm conv_point = { "product", choose, seconds, plan, run, .slices = true };
