/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The maximum over windows of one to three spatial axes (window.h). Forward stores, for backward,
 * the place of the maximum in its window (row-major; the first of equal ones): in 8 bits for
 * windows of up to 256 places. NaN counts as larger than any number.
 *
 * CPU: tensors are channels-last; a task is a row of outputs (forward) or of inputs (backward),
 * with channels in the innermost loop. Backward adds, for each input, the windows that contain it,
 * so that rows do not share sums and the bits do not depend on the number of threads. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/lib/fork.h"
#include "op/lib/reads.h"
#include "op/lib/row.h"
#include "op/lib/simd.h"
#include "op/lib/window_cuda.h"

static const struct field fields[] = { POOL_FIELDS, FIELD_END };
static const struct field grad_fields[] = { POOL_FIELDS, POOL_INPUT_FIELD, FIELD_END };

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	struct window w;
	TRY(window_forward_shape(g, n, &w));
	struct shape y = grid_shape(&w.out);
	return graph_out(g, n, 1, window_volume(&w) <= 256 ? DTYPE_U8 : DTYPE_I32, &y);
}

static int check_index(struct graph *g, const struct node *n, const struct window *w)
{
	struct shape y = grid_shape(&w->out);
	if (graph_t(g, n->in[1])->dtype != DTYPE_U8)
		TRY(check_dtype(g, n, 1, DTYPE_I32));
	return check_shape(g, n, 1, &y);
}

static int grad_shape(struct graph *g, struct node *n)
{
	struct window w;
	TRY(window_backward_shape(g, n, &w));
	return check_index(g, n, &w);
}

static int gather_shape(struct graph *g, struct node *n)
{
	struct window w;
	TRY(window_forward_shape(g, n, &w));
	return check_index(g, n, &w);
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	struct pool at = window_grad_attr(g, n);
	if (dy[0] == NONE)
		return 0;
	return graph_emit1(g, "max_pool_grad", &at, 2, (tid[]){ dy[0], n->out[1] }, &dx[0]);
}

static int gather_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	struct pool at = window_grad_attr(g, n);
	if (dy[0] == NONE)
		return 0;
	return graph_emit1(g, "max_pool_grad", &at, 2, (tid[]){ dy[0], n->in[1] }, &dx[0]);
}

static int grad_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	struct pool at = *(const struct pool *)n->attr;
	at.input_size = (struct ints){ 0, NULL };
	if (dy[0] == NONE)
		return 0;
	return graph_emit1(g, "max_pool_gather", &at, 2, (tid[]){ dy[0], n->in[1] }, &dx[0]);
}

/* --- reference kernels --- */

static enum dtype index_dtype(const struct kplan *k, tid t)
{
	return t == NONE ? DTYPE_U8 : graph_t(k->g, t)->dtype;
}

/* Runs the statement for each output o of each plane p. */
#define EACH_WINDOW(w, p, o)                                \
	for (int64_t p = 0; p < (w)->in.n * (w)->in.c; p++) \
		for (int64_t o = 0; o < grid_points(&(w)->out); o++)

static int ref_max_run(const struct kplan *k, const struct kargs *a)
{
	const struct window *w = k->state;
	const double *x = a->in[0];
	double *y = a->out[0];
	EACH_WINDOW (w, p, o) {
		int64_t at = p * grid_points(&w->out) + o, best = -1;
		for (int64_t t = 0; t < window_volume(w); t++) {
			int64_t i = window_input(w, o, t);
			double v = i < 0 ? 0 : x[p * grid_points(&w->in) + i];
			if (i < 0 || (best >= 0 && !(v > y[at]) && !isnan(v)))
				continue;
			y[at] = v;
			best = t;
		}
		if (a->out[1])
			dtype_set(index_dtype(k, k->n->out[1]), a->out[1], at, (double)best);
	}
	return 0;
}

static int ref_max_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct window *w = k->state;
	const double *dy = a->in[0];
	double *dx = a->out[0];
	memset(dx, 0, sizeof *dx * (size_t)(w->in.n * w->in.c * grid_points(&w->in)));
	EACH_WINDOW (w, p, o) {
		int64_t at = p * grid_points(&w->out) + o;
		int64_t i = window_input(
			w, o, (int64_t)dtype_get(index_dtype(k, k->n->in[1]), a->in[1], at));
		if (i >= 0)
			dx[p * grid_points(&w->in) + i] += dy[at];
	}
	return 0;
}

static int ref_gather_run(const struct kplan *k, const struct kargs *a)
{
	const struct window *w = k->state;
	const double *x = a->in[0];
	double *y = a->out[0];
	EACH_WINDOW (w, p, o) {
		int64_t at = p * grid_points(&w->out) + o;
		int64_t i = window_input(
			w, o, (int64_t)dtype_get(index_dtype(k, k->n->in[1]), a->in[1], at));
		y[at] = i < 0 ? 0 : x[p * grid_points(&w->in) + i];
	}
	return 0;
}

/* --- cpu kernels --- */

#define PLACES      512   /* places of maxima held at a time */

/* A row along the innermost spatial axis, at (n, d, h). */
struct row {
	int64_t n, d, h;
};

static struct row row_of(const struct grid *g, int64_t i)
{
	return (struct row){ i / (g->d[1] * g->d[0]), i / g->d[1] % g->d[0], i % g->d[1] };
}

/* The offset of a row of a channels-last tensor, in elements. */
static int64_t row_offset(const struct grid *g, int64_t n, int64_t d, int64_t h)
{
	return ((n * g->d[0] + d) * g->d[1] + h) * g->d[2] * g->c;
}

/* Replaces *y and its place by v and `place` if v is larger. */
SIMD_INLINE void larger(float v, int32_t place, float *y, int32_t *best)
{
	int t = (v > *y) | (v != v);
	*y = t ? v : *y;
	*best = t ? place : *best;
}

/* Adjacent windows along the innermost axis, each with `taps` pixels; windows start every `step`
 * pixels. */
struct run {
	int64_t count, taps, step;
};

/* The windows from `first` on, at most `most`, that lie completely inside the input, as one run; a
 * window at the border is a run by itself. */
static struct run run_from(const struct window *w, int64_t first, int64_t most,
                           const int64_t whole[2], int64_t *tap)
{
	int64_t last, n = 1;
	window_taps(w, 2, first, tap, &last);
	if (first >= whole[0] && first < whole[1])
		n = whole[1] - first < most ? whole[1] - first : most;
	return (struct run){ n, last - *tap, w->s[2] };
}

/* Pixels of a row of the input, c channels apart; x is the first one. */
struct pixels {
	const void *x;
	int64_t c;
};

/* The maxima so far of adjacent windows, and their places in the windows. */
struct maxima {
	float *y;
	int32_t *best;
};

/* Compares one or two adjacent places of each window with its maximum. x: the first place's pixels,
 * of which `tile` channels are processed. fresh: `to` is not initialised yet. bf16: x is bf16. */
SIMD_INLINE void max_places(struct pixels x, const int bf16, int64_t tile, struct run r, bool two,
                            int32_t place, bool fresh, struct maxima to)
{
	const int64_t c = x.c;
	float *y = to.y;
	int32_t *best = to.best;
	for (int64_t o = 0; o < r.count; o++, y += tile, best += tile) {
		const void *p = row_at(x.x, bf16, o * r.step * c);
		SIMD_LOOP
		for (int64_t j = 0; j < tile; j++) {
			float m = fresh ? simd_get(p, bf16, j) : y[j];
			int32_t b = fresh ? place : best[j];
			if (!fresh)
				larger(simd_get(p, bf16, j), place, &m, &b);
			if (two)
				larger(simd_get(p, bf16, c + j), place + 1, &m, &b);
			y[j] = m;
			best[j] = b;
		}
	}
}

/* Calls the loop with a constant number of channels if there are few: with a number that the
 * compiler does not know, the loop's overhead would exceed its work. */
SIMD_INLINE void max_widths(struct pixels x, const int bf16, int64_t tile, struct run r, bool two,
                            int32_t place, bool fresh, struct maxima to)
{
	if (x.c == 16)
		max_places((struct pixels){ x.x, 16 }, bf16, 16, r, two, place, fresh, to);
	else if (x.c == 32)
		max_places((struct pixels){ x.x, 32 }, bf16, 32, r, two, place, fresh, to);
	else
		max_places(x, bf16, tile, r, two, place, fresh, to);
}

#define MAX_SOME(name, bf16, two)                                                        \
	SIMD_CLONES(void, name,                                                              \
	            (struct pixels x, int64_t tile, struct run r, int32_t place, bool fresh, \
	             struct maxima to), (x, tile, r, place, fresh, to))                      \
	{                                                                                    \
		if (fresh)                                                                       \
			max_widths(x, bf16, tile, r, two, place, true, to);                          \
		else                                                                             \
			max_widths(x, bf16, tile, r, two, place, false, to);                         \
	}

MAX_SOME(max_two, 0, true)
MAX_SOME(max_one, 0, false)
MAX_SOME(max_two_bf16, 1, true)
MAX_SOME(max_one_bf16, 1, false)

/* Processes the windows' places in one input row; `place` is the number of the first one. */
static void max_run(struct pixels x, bool bf16, int64_t tile, struct run r, int32_t place,
                    bool fresh, struct maxima to)
{
	int64_t t = 0;
	for (; t < r.taps; t += 2) {
		const struct pixels from = { row_at(x.x, bf16, t * x.c), x.c };
		if (t + 2 <= r.taps)
			(bf16 ? max_two_bf16 : max_two)(from, tile, r, place + (int32_t)t, fresh && t == 0, to);
		else
			(bf16 ? max_one_bf16 : max_one)(from, tile, r, place + (int32_t)t, fresh && t == 0, to);
	}
}

SIMD_CLONES(void, narrow, (const int32_t *best, int64_t n, uint8_t *out), (best, n, out))
{
#pragma omp simd
	for (int64_t j = 0; j < n; j++)
		out[j] = (uint8_t)best[j];
}

/* Windows ow .. ow + pixels - 1 of a row, for `tile` channels; x points to those channels in sample
 * n. */
static void max_group(const struct window *w, const void *x, struct row r, int64_t ow,
                      int64_t pixels, int64_t tile, float *y, int32_t *best)
{
	int64_t d0, d1, h0, h1, whole[2], tap, c = w->in.c;
	struct run run;
	window_taps(w, 0, r.d, &d0, &d1);
	window_taps(w, 1, r.h, &h0, &h1);
	window_whole(w, &whole[0], &whole[1]);
	for (int64_t kd = d0; kd < d1; kd++)
		for (int64_t kh = h0; kh < h1; kh++) {
			const int64_t row = row_offset(&w->in, 0, r.d * w->s[0] - w->lo[0] + kd,
			                               r.h * w->s[1] - w->lo[1] + kh);
			const int64_t place = (kd * w->k[1] + kh) * w->k[2];
			for (int64_t p = 0; p < pixels; p += run.count) {
				run = run_from(w, ow + p, pixels - p, whole, &tap);
				const int64_t at = (ow + p) * w->s[2] - w->lo[2] + tap;
				max_run((struct pixels){ row_at(x, w->bf16, row + at * c), c }, w->bf16, tile, run,
				        (int32_t)(place + tap), kd == d0 && kh == h0,
				        (struct maxima){ y + p * tile, best + p * tile });
			}
		}
}

/* The places of several pixels, or of some channels of one pixel, are held at a time as int32, so
 * that long runs are converted to 8 bits. */
static void max_row(const struct window *w, const void *x, struct row r, float *y, uint8_t *index8,
                    int32_t *index32)
{
	int32_t best[PLACES];
	int64_t c = w->in.c, tile = c < PLACES ? c : PLACES, group = PLACES / tile;
	x = row_at(x, w->bf16, row_offset(&w->in, r.n, 0, 0));
	for (int64_t ow = 0; ow < w->out.d[2]; ow += group)
		for (int64_t c0 = 0; c0 < c; c0 += tile) {
			int64_t n = c - c0 < tile ? c - c0 : tile, at = ow * c + c0;
			int64_t pixels = w->out.d[2] - ow < group ? w->out.d[2] - ow : group;
			max_group(w, row_at(x, w->bf16, c0), r, ow, pixels, n, y + at, best);
			if (index8)
				narrow(best, pixels * n, index8 + at);
			else if (index32)
				memcpy(index32 + at, best, sizeof *best * (size_t)(pixels * n));
		}
}

static int cpu_run(const struct kplan *k, const struct kargs *a)
{
	const struct window *w = k->state;
	const struct grid *o = &w->out;
	bool wide = index_dtype(k, k->n->out[1]) != DTYPE_U8;
	uint8_t *index8 = wide ? NULL : a->out[1];
	int32_t *index32 = wide ? a->out[1] : NULL;
	int64_t rows = o->n * o->d[0] * o->d[1], length = o->d[2] * o->c;
	const struct row_out r = row_out_of(k, a, length);
#pragma omp parallel for schedule(static) if (rows * length > FORK_FLOATS)
	for (int64_t i = 0; i < rows; i++) {
		float *y = row_begin(&r, i);
		max_row(w, a->in[0], row_of(o, i), y, index8 ? index8 + i * length : NULL,
		        index32 ? index32 + i * length : NULL);
		row_end(&r, i, y);
	}
	return 0;
}

/* dx += dy in each window whose maximum is at this place. */
SIMD_INLINE void give_windows(const void *dy, const int bf16, const void *index, bool wide,
                              int64_t c, struct run r, int32_t place, float *dx)
{
	const uint8_t *i8 = index;
	const int32_t *i32 = index;
	for (int64_t o = 0; o < r.count; o++, dx += r.step * c) {
		const void *p = row_at(dy, bf16, o * c);
		for (int64_t t = 0; t < r.taps; t++)
			SIMD_LOOP
			for (int64_t j = 0; j < c; j++) {
				int32_t at = wide ? i32[o * c + j] : i8[o * c + j];
				dx[t * c + j] += simd_select(at == place + (int32_t)t,
				                             simd_get(p, bf16, j), 0);
			}
	}
}

#define GIVE_RUN(name, bf16)                                                            \
	SIMD_CLONES(void, name,                                                             \
	            (const void *dy, const void *index, bool wide, int64_t c, struct run r, \
	             int32_t place, float *dx), (dy, index, wide, c, r, place, dx))         \
	{                                                                                   \
		if (wide)                                                                       \
			give_windows(dy, bf16, index, true, c, r, place, dx);                       \
		else if (c == 16)                                                               \
			give_windows(dy, bf16, index, false, 16, r, place, dx);                     \
		else if (c == 32)                                                               \
			give_windows(dy, bf16, index, false, 32, r, place, dx);                     \
		else                                                                            \
			give_windows(dy, bf16, index, false, c, r, place, dx);                      \
	}

GIVE_RUN(give_run, 0)
GIVE_RUN(give_run_bf16, 1)

/* Adds the gradients of the windows of output row (r.n, od, oh), which begins at `at`, to the input
 * row dx, for places `place` and following. */
static void give_row(const struct window *w, const void *dy, const void *index, bool wide,
                     int64_t at, int64_t place, float *dx)
{
	int64_t whole[2], tap, c = w->in.c;
	struct run r;
	window_whole(w, &whole[0], &whole[1]);
	for (int64_t ow = 0; ow < w->out.d[2]; ow += r.count, at += r.count * c) {
		r = run_from(w, ow, w->out.d[2], whole, &tap);
		(w->bf16 ? give_run_bf16 : give_run)(
			row_at(dy, w->bf16, at), (const char *)index + at * (wide ? 4 : 1), wide, c,
			r, (int32_t)(place + tap), dx + (ow * w->s[2] - w->lo[2] + tap) * c);
	}
}

static void grad_row(const struct window *w, const void *dy, const void *index, bool wide,
                     struct row r, float *dx)
{
	int64_t d0, d1, h0, h1;
	memset(dx, 0, sizeof *dx * (size_t)(w->in.d[2] * w->in.c));
	window_covers(w, 0, r.d, &d0, &d1);
	window_covers(w, 1, r.h, &h0, &h1);
	for (int64_t od = d0; od < d1; od++)
		for (int64_t oh = h0; oh < h1; oh++) {
			int64_t kd = r.d + w->lo[0] - od * w->s[0],
				kh = r.h + w->lo[1] - oh * w->s[1];
			give_row(w, dy, index, wide, row_offset(&w->out, r.n, od, oh),
			         (kd * w->k[1] + kh) * w->k[2], dx);
		}
}

static int cpu_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct window *w = k->state;
	const struct grid *in = &w->in;
	bool wide = index_dtype(k, k->n->in[1]) != DTYPE_U8;
	int64_t rows = in->n * in->d[0] * in->d[1], length = in->d[2] * in->c;
	const struct row_out r = row_out_of(k, a, length);
#pragma omp parallel for schedule(static) if (rows * length > FORK_FLOATS)
	for (int64_t i = 0; i < rows; i++) {
		float *dx = row_begin(&r, i);
		grad_row(w, a->in[0], a->in[1], wide, row_of(in, i), dx);
		row_end(&r, i, dx);
	}
	return 0;
}

/* y[o] = x at place index[o] of window o. Only second derivatives need this, so it is not
 * optimized. */
static void gather_row(const struct window *w, const float *x, struct row r, enum dtype type,
                       const void *index, int64_t at, float *y)
{
	for (int64_t i = 0; i < w->out.d[2] * w->out.c; i++) {
		int64_t o = (r.d * w->out.d[1] + r.h) * w->out.d[2] + i / w->out.c;
		int64_t from = window_input(w, o, (int64_t)dtype_get(type, index, at + i));
		y[at + i] =
			from < 0 ? 0
				 : x[(r.n * grid_points(&w->in) + from) * w->in.c + i % w->out.c];
	}
}

static int cpu_gather_run(const struct kplan *k, const struct kargs *a)
{
	const struct window *w = k->state;
	const struct grid *o = &w->out;
	enum dtype type = index_dtype(k, k->n->in[1]);
	int64_t rows = o->n * o->d[0] * o->d[1], length = o->d[2] * o->c;
#pragma omp parallel for schedule(static) if (rows * length > FORK_FLOATS)
	for (int64_t i = 0; i < rows; i++)
		gather_row(w, a->in[0], row_of(o, i), type, a->in[1], i * length, a->out[0]);
	return 0;
}

/* --- samples --- */

static const char *const samples[] = {
	"2x3x8x6:distinct; kernel: 2",
	"2x17x7x9:distinct; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1",
	"1x1x5x7:distinct; kernel: [3, 2], stride: 1, pad_lo: [0, 1], pad_hi: [2, 0]",
	"1x3x5x4x6:distinct; kernel: [2, 3, 2], stride: [2, 1, 2], pad_hi: [1, 1, 0]",
	"2x5x9:distinct; kernel: 3, stride: 2",
	"1x3x8x11:distinct; kernel: 2, stride: [3, 4], pad_lo: 1",
	"1x2x20x19:distinct; kernel: 17, stride: 3",
	"2x48x16x18:distinct; kernel: 2",
	"1x300x4x5:distinct; kernel: 2",
	"1x513x2x3:distinct; kernel: [2, 1]",
	"1x16x6x9x11:distinct; kernel: 2, stride: 2, pad_lo: 1",
	"2x32x9x8:distinct; kernel: 3, stride: 1, pad_hi: 1",
	"1x200x1x263:distinct; kernel: [1, 257], stride: 3",
	"1x36x7x6:distinct; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1",
	"1x8x5x6x7:distinct; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1",
	"2x24x8x7:distinct; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1",
	"1x16x4x7x6:distinct; kernel: 3, stride: [1, 2, 2]",
	"1x728x3x4:distinct; kernel: 2",
	NULL
};
static const char *const grad_samples[] = {
	"2x16x4x5 2x16x4x5:index4; kernel: 2, input_size: [8, 11]",
	"1x32x7x8 1x32x7x8:index9; kernel: 3, stride: 1, pad_hi: 1, input_size: [8, 9]",
	"2x3x4x3 2x3x4x3:index4; kernel: 2, input_size: [8, 6]",
	"2x17x4x5 2x17x4x5:index9; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1, input_size: [7, 9]",
	"1x3x3x4x3 1x3x3x4x3:index12; kernel: [2, 3, 2], stride: [2, 1, 2], pad_hi: [1, 2, 0], "
	"input_size: [5, 4, 6]",
	"1x36x4x3 1x36x4x3:index9; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1, input_size: [7, 6]",
	"1x728x1x2 1x728x1x2:index4; kernel: 2, input_size: [3, 4]",
	NULL
};
static const char *const gather_samples[] = {
	"2x3x8x6 2x3x4x3:index4; kernel: 2",
	"2x17x7x9 2x17x4x5:index9; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1",
	NULL
};

/* --- records --- */

static const struct op op_max_pool = {
	.name = "max_pool",
	.doc = "maximum over windows",
	.flags = OP_LAYER,
	.min_in = 1, .max_in = 1, .nout = 2,
	.attr_size = sizeof(struct pool), .attrs = fields,
	.shape = shape, .grad = grad, .reads = window_reads,
	.part = reads_window_part, .cost = window_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = window_plan, .run = ref_max_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = window_plan, .run = cpu_run,
		                  .bf16_in = 1, .bf16_out = 1 },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = window_cuda_plan, .run = max_pool_cuda,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = samples,
};

static const struct op op_max_pool_grad = {
	.name = "max_pool_grad",
	.doc = "gradient of max_pool from dy and the places of the maxima",
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct pool), .attrs = grad_fields,
	.nondiff = 2,
	.shape = grad_shape, .grad = grad_grad, .cost = window_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = window_plan_grad,
		                        .run = ref_max_grad_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = window_plan_grad, .run = cpu_grad_run,
		                  .bf16_in = 1, .bf16_out = 1 },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = window_cuda_plan_grad, .run = max_pool_grad_cuda,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = grad_samples,
};

static const struct op op_max_pool_gather = {
	.name = "max_pool_gather",
	.doc = "the inputs at given places of windows: the gradient of max_pool_grad",
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct pool), .attrs = fields,
	.nondiff = 2,
	.shape = gather_shape, .grad = gather_grad, .cost = NULL,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = window_plan, .run = ref_gather_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = window_plan, .run = cpu_gather_run },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = window_cuda_plan, .run = max_pool_gather_cuda,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = gather_samples,
};

OPSET(max_pool, &op_max_pool, &op_max_pool_grad, &op_max_pool_gather);
