/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Winograd convolution: the division into blocks, offsets, the workspace, and the positions of
 * tiles. */
#include "op/winograd/winograd.h"

#include "base/isa.h"
#include "base/round.h"

#if defined(__x86_64__)

bool wino_has_cpu(void)
{
	return isa_has(ISA_AVX512);
}

const struct wino_form *wino_form_find(const struct conv_geom *c)
{
	const int64_t r = c->kernel[c->ns - 1];
	if (c->ns < 2 || c->groups != 1 || c->kernel[c->ns - 2] != r)
		return NULL;
	for (int i = 0; i < c->ns; i++)
		if (c->stride[i] != 1)
			return NULL;
	for (int i = 0; i < wino_nform; i++)
		if (wino_forms[i].r == r)
			return &wino_forms[i];
	return NULL;
}

/* --- plan --- */

/* Offsets along one axis of the weights; `step`: distance of adjacent indices in row-major
 * order. */
static int32_t *offsets(const struct layout *l, int64_t n, int64_t step, bool reversed,
                        struct arena *arena)
{
	int32_t *at = ARENA_ARRAY(arena, int32_t, ceil_div(n, WINO_PANEL) * WINO_PANEL);
	for (int64_t i = 0; i < n; i++)
		at[i] = (int32_t)layout_offset(l, (reversed ? n - 1 - i : i) * step);
	return at;
}

static void find_weights(struct wino *w, const struct conv_geom *c, const struct layout *l,
                         struct arena *arena)
{
	const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
	const bool back = w->kind == CONV_BACKWARD_DATA;
	const int32_t *o = offsets(l, c->co, c->ci * taps, false, arena);
	const int32_t *i = offsets(l, c->ci, taps, false, arena);
	w->tap = offsets(l, taps, 1, back, arena);
	w->at_i = back ? o : i;
	w->at_o = back ? i : o;
	w->w_elements = layout_elements(l);
	w->w_padded = !layout_is_dense(l);
}

static void find_depth(struct wino *w, const struct conv_geom *c)
{
	const bool back = w->kind == CONV_BACKWARD_DATA;
	w->deep_in = w->deep_out = w->deep_taps = w->deep_step = 1;
	w->deep_pad = 0;
	if (c->ns < 3)
		return;
	w->deep_in = back ? c->out[0] : c->in[0];
	w->deep_out = back ? c->in[0] : c->out[0];
	w->deep_taps = c->kernel[0];
	w->deep_step = c->dilation[0];
	w->deep_pad = back ? (c->kernel[0] - 1) * c->dilation[0] - c->pad_lo[0] : c->pad_lo[0];
}

static void find_sizes(struct wino *w, const struct conv_geom *c)
{
	const bool back = w->kind == CONV_BACKWARD_DATA;
	w->n = c->n;
	w->ci = back ? c->co : c->ci;
	w->co = back ? c->ci : c->co;
	find_depth(w, c);
	w->ntile = c->n * w->deep_out;
	for (int i = 0; i < 2; i++) {
		const int a = c->ns - 2 + i;
		const int64_t d = c->dilation[a];
		w->in[i] = back ? c->out[a] : c->in[a];
		w->out[i] = back ? c->in[a] : c->out[a];
		w->pad[i] = back ? (c->kernel[a] - 1) * d - c->pad_lo[a] : c->pad_lo[a];
		w->dilation[i] = d;
		w->tiles[i] = ceil_div(ceil_div(w->out[i], d), w->form->m);
		w->ntile *= w->tiles[i] * d;
	}
	w->npart = ceil_div(w->ci, WINO_K);
	w->nchunk = w->npart * w->deep_taps;
	w->npanel = ceil_div(w->co, WINO_PANEL);
}

#define FEW_BYTES 4e6          /* bytes of transformed weights above which they do not stay in the
                                * cache */

static double u_bytes(const struct wino *w)
{
	return 4.0 * (double)(wino_positions(w) * w->ci * w->deep_taps) *
	       (double)ceil_div(w->co, WINO_LANES) * WINO_LANES;
}

static double v_bytes(const struct wino *w)
{
	return 4.0 * (double)(wino_positions(w) * w->ntile * WINO_K) * (double)w->nchunk;
}

/* Whether transformed weights are better not kept in memory. */
static bool is_few(const struct wino *w)
{
	return w->kind != CONV_BACKWARD_WEIGHTS && w->ntile <= WINO_BLOCK && u_bytes(w) > FEW_BYTES;
}

/* Computes eight panels at once if there are that many, so that inputs are transformed at most
 * twice. A block has as many tiles as leave their products about in the L2 cache, but there are at
 * least eight blocks, for the threads. */
static void find_blocks(struct wino *w)
{
	w->group = w->nchunk == 1 ? 1 : ceil_div(w->npanel, ceil_div(w->npanel, 8));
	w->ngroup = w->nchunk == 1 ? 1 : ceil_div(w->npanel, w->group);
	const int64_t most = (w->form->alpha == 8 ? 28 : 56) / (w->group > 4 ? 2 : 1);
	const int64_t size = wino_least(most, ceil_div(ceil_div(w->ntile, 8), 14) * 14);
	w->nblock = ceil_div(w->ntile, size);
	w->block = ceil_div(w->ntile, w->nblock);
}

/* For few tiles: all tiles are one block, and the chunks are split so that threads get about 32
 * tasks. */
static void find_splits(struct wino *w)
{
	w->block = w->ntile;
	w->nblock = 1;
	w->nsegment = wino_least(ceil_div(32, w->npanel), ceil_div(w->nchunk, 4));
	w->segment = ceil_div(w->nchunk, w->nsegment);
	w->nsegment = ceil_div(w->nchunk, w->segment);
}

/* Blocks of WINO_K tiles. If there are few channels, their sums are split into segments. */
static void find_segments(struct wino *w)
{
	const int64_t tasks = w->nchunk * w->npanel;
	w->block = WINO_K;
	w->nblock = ceil_div(w->ntile, w->block);
	w->nsegment = wino_least(ceil_div(32, tasks), ceil_div(w->nblock, 4));
	w->segment = ceil_div(w->nblock, w->nsegment);
	w->nsegment = ceil_div(w->nblock, w->segment);
}

void wino_init(struct wino *w, const struct wino_form *f, const struct conv_geom *c,
               enum conv_kind kind, const struct layout *l, int64_t x_px, int64_t y_px, int threads,
               struct arena *arena)
{
	*w = (struct wino){ .form = f, .kind = kind, .x_px = x_px, .y_px = y_px,
	                    .threads = threads };
	find_sizes(w, c);
	find_weights(w, c, l, arena);
	w->few = is_few(w);
	if (kind == CONV_BACKWARD_WEIGHTS)
		find_segments(w);
	else if (w->few)
		find_splits(w);
	else
		find_blocks(w);
}

/* --- positions of tiles --- */

struct grid {
	const int64_t *size;
	int64_t px, pad[2];
	int64_t planes, deep_pad;
	int extent;
};

static struct grid grid_x(const struct wino *w)
{
	return (struct grid){ w->in, w->x_px, { w->pad[0], w->pad[1] }, w->deep_in, w->deep_pad,
			      w->form->alpha };
}

static struct grid grid_y(const struct wino *w)
{
	return (struct grid){ w->out, w->y_px, { 0, 0 }, w->deep_out, 0, w->form->m };
}

/* The range [from, to) of the pixels at, at + d, ... (`extent` of them) that are in 0 .. size -
 * 1. */
static void inside(int64_t at, int64_t d, int64_t size, int extent, int *from, int *to)
{
	const int64_t a = at < 0 ? ceil_div(-at, d) : 0, b = at < size ? ceil_div(size - at, d) : 0;
	*to = (int)wino_least(b, extent);
	*from = (int)wino_least(a, *to);
}

static void spots(const struct wino *w, const struct grid *g, int64_t first, int64_t count,
                  struct wino_spot *s)
{
	const int64_t dy = w->dilation[0], dx = w->dilation[1], m = w->form->m;
	for (int64_t i = 0; i < count; i++) {
		int64_t t = first + i;
		const int64_t tx = t % w->tiles[1], ty = (t /= w->tiles[1]) % w->tiles[0];
		const int64_t sx = (t /= w->tiles[0]) % dx, sy = (t /= dx) % dy;
		const int64_t y = ty * m * dy + sy - g->pad[0], x = tx * m * dx + sx - g->pad[1];
		t /= dy;
		s[i].plane = t % w->deep_out - g->deep_pad;
		t = t / w->deep_out * g->planes + s[i].plane;
		s[i].at = ((t * g->size[0] + y) * g->size[1] + x) * g->px;
		inside(y, dy, g->size[0], g->extent, &s[i].span.row0, &s[i].span.row1);
		inside(x, dx, g->size[1], g->extent, &s[i].span.col0, &s[i].span.col1);
	}
}

void wino_spots_x(const struct wino *w, int64_t first, int64_t count, struct wino_spot *s)
{
	const struct grid g = grid_x(w);
	spots(w, &g, first, count, s);
}

void wino_spots_y(const struct wino *w, int64_t first, int64_t count, struct wino_spot *s)
{
	const struct grid g = grid_y(w);
	spots(w, &g, first, count, s);
}

static struct wino_pixels pixels(const struct wino *w, const struct grid *g, int64_t channels)
{
	return (struct wino_pixels){ .row = g->size[1] * g->px * w->dilation[0],
	                             .col = g->px * w->dilation[1],
	                             .lanes = channels < WINO_LANES ? (1u << channels) - 1
	                                                            : 0xFFFF };
}

struct wino_pixels wino_pixels_x(const struct wino *w, int64_t channel)
{
	const struct grid g = grid_x(w);
	return pixels(w, &g, w->ci - channel);
}

struct wino_pixels wino_pixels_y(const struct wino *w, int64_t channel)
{
	const struct grid g = grid_y(w);
	return pixels(w, &g, w->co - channel);
}

/* --- estimate --- */

/* Fitted to nodes within whole steps, whose tensors come from memory; most estimates are within a
 * fifth. Units: cycles of a core for the transforms of 16 channels of a tile (or of a weight). */
#define INPUT 370
#define OUTPUT 370            /* also for an output gradient */
#define WEIGHTS 400
#define MULTIPLY (1 / 1.5)    /* cycles for each vector */
#define SUM 5.5               /* cycles to load a vector of sums for the next WINO_K channels */
#define CYCLES 4.2e9          /* per second */
#define CACHE_BYTES 16e6      /* bytes of the last-level cache */
#define OVERHEAD 10e-6        /* seconds of two parallel regions */

/* The effective number of input channels in the cost model: with few channels the GEMM is bound by
 * latency. */
static int64_t multiplied(const struct wino *w)
{
	return w->kind == CONV_BACKWARD_WEIGHTS && w->ci < 24 ? 24 : w->ci;
}

/* With few tiles, the transformed inputs are read again for every panel. */
static double v_seconds(const struct wino *w)
{
	const double bytes = v_bytes(w);
	return bytes * (double)w->npanel / (bytes > CACHE_BYTES ? 40e9 : 80e9);
}

/* Transformed weights that do not fit in the cache together with the other data go through
 * memory. */
static double u_seconds(const struct wino *w)
{
	const double bytes = u_bytes(w);
	return bytes / (bytes > FEW_BYTES ? 16e9 : 25e9);
}

/* The sums go to memory once, and once more if there are several splits. */
static double sum_seconds(const struct wino *w)
{
	const double bytes = 4.0 * w->form->r * w->form->r * (double)(w->ci * w->deep_taps * w->co);
	struct wino split = *w;
	find_segments(&split);
	return split.nsegment > 1 ? u_seconds(w) : 2 * bytes / (bytes > CACHE_BYTES ? 40e9 : 80e9);
}

double wino_seconds(const struct wino_form *f, const struct conv_geom *c, enum conv_kind kind)
{
	struct wino w = { .form = f, .kind = kind };
	find_sizes(&w, c);
	const double vi = (double)(ceil_div(w.ci, WINO_LANES) * w.deep_taps),
	             vo = (double)ceil_div(w.co, WINO_LANES);
	const double ci = (double)(multiplied(&w) * w.deep_taps), positions = f->alpha * f->alpha;
	double tile = positions * ci * vo * MULTIPLY;
	if (kind == CONV_BACKWARD_WEIGHTS)
		tile += INPUT * vi * (double)w.npanel + OUTPUT * vo * (double)w.nchunk;
	else
		tile += positions * vo * (double)w.nchunk * SUM +
		        INPUT * vi * (double)(is_few(&w) ? 1 : ceil_div(w.npanel, 8)) + OUTPUT * vo;
	const double cycles = tile * (double)w.ntile + WEIGHTS * ci * vo;
	const double seconds = OVERHEAD + cycles / 2 / CYCLES;
	if (kind == CONV_BACKWARD_WEIGHTS)
		return seconds + sum_seconds(&w);
	return seconds + (is_few(&w) ? v_seconds(&w) : u_seconds(&w));
}

#endif
