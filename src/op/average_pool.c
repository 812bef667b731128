/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mean over windows of one to three spatial axes (window.h). The divisor is the size of the
 * window (count_padding: padding counts as zeros), or the size of its part inside the input.
 *
 * CPU: tensors are channels-last; a task is a row of outputs (forward) or of inputs (backward),
 * with channels in the innermost loop. Backward adds, for each input, the windows that contain it,
 * so that rows do not share sums and the bits do not depend on the number of threads. */
#include <string.h>

#include "op/lib/cuda.h"
#include "op/lib/fork.h"
#include "op/lib/reads.h"
#include "op/lib/row.h"
#include "op/lib/simd.h"
#include "op/lib/window_cuda.h"

#define COUNT_FIELD                                    \
	FIELD_BOOL(struct pool, count_padding, "true", \
	           "whether padding counts in the mean, as zeros")
static const struct field fields[] = { POOL_FIELDS, COUNT_FIELD, FIELD_END };
static const struct field grad_fields[] = { POOL_FIELDS, POOL_INPUT_FIELD, COUNT_FIELD, FIELD_END };

/* 1 / the divisor of the window at o. */
static double share(const struct window *w, const int64_t o[3])
{
	int64_t count = 1, first, last;
	if (w->count_padding)
		return 1.0 / (double)window_volume(w);
	for (int a = 0; a < 3; a++) {
		window_taps(w, a, o[a], &first, &last);
		count *= last - first;
	}
	return 1.0 / (double)count;
}

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	struct window w;
	return window_forward_shape(g, n, &w);
}

static int grad_shape(struct graph *g, struct node *n)
{
	struct window w;
	return window_backward_shape(g, n, &w);
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	struct pool at = window_grad_attr(g, n);
	return dy[0] == NONE ? 0 : graph_emit1(g, "average_pool_grad", &at, 1, dy, &dx[0]);
}

static int grad_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	struct pool at = *(const struct pool *)n->attr;
	at.input_size = (struct ints){ 0, NULL };
	return dy[0] == NONE ? 0 : graph_emit1(g, "average_pool", &at, 1, dy, &dx[0]);
}

/* --- reference kernels --- */

static double ref_share(const struct window *w, int64_t flat)
{
	int64_t count = 0;
	for (int64_t t = 0; t < window_volume(w); t++)
		count += w->count_padding || window_input(w, flat, t) >= 0;
	return 1.0 / (double)count;
}

/* Runs the statement for each output o of each plane p. */
#define EACH_WINDOW(w, p, o)                                \
	for (int64_t p = 0; p < (w)->in.n * (w)->in.c; p++) \
		for (int64_t o = 0; o < grid_points(&(w)->out); o++)

static int ref_average_run(const struct kplan *k, const struct kargs *a)
{
	const struct window *w = k->state;
	const double *x = a->in[0];
	double *y = a->out[0];
	EACH_WINDOW (w, p, o) {
		double sum = 0;
		for (int64_t t = 0; t < window_volume(w); t++) {
			int64_t i = window_input(w, o, t);
			sum += i < 0 ? 0 : x[p * grid_points(&w->in) + i];
		}
		y[p * grid_points(&w->out) + o] = sum * ref_share(w, o);
	}
	return 0;
}

static int ref_average_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct window *w = k->state;
	const double *dy = a->in[0];
	double *dx = a->out[0];
	memset(dx, 0, sizeof *dx * (size_t)(w->in.n * w->in.c * grid_points(&w->in)));
	EACH_WINDOW (w, p, o)
		for (int64_t t = 0; t < window_volume(w); t++) {
			int64_t i = window_input(w, o, t);
			if (i >= 0)
				dx[p * grid_points(&w->in) + i] +=
					dy[p * grid_points(&w->out) + o] * ref_share(w, o);
		}
	return 0;
}

/* --- cpu kernels --- */

/* The offset of a row of a channels-last tensor, in elements. */
static int64_t row_offset(const struct grid *g, int64_t n, int64_t d, int64_t h)
{
	return ((n * g->d[0] + d) * g->d[1] + h) * g->d[2] * g->c;
}

/* Adjacent windows along the innermost axis, each with `taps` pixels; windows start every `step`
 * pixels. */
struct run {
	int64_t count, taps, step;
};

/* The windows from `first` on that lie completely inside the input, as one run; a window at the
 * border is a run by itself. */
static struct run run_from(const struct window *w, int64_t first, const int64_t whole[2],
                           int64_t *tap)
{
	int64_t last;
	window_taps(w, 2, first, tap, &last);
	const bool inner = first >= whole[0] && first < whole[1];
	return (struct run){ inner ? whole[1] - first : 1, last - *tap, w->s[2] };
}

/* y = (fresh) or += f times one pixel, or the sum of two adjacent pixels, of each window; x points
 * to the first window's pixel. bf16: x is bf16. */
SIMD_INLINE void add_pixels(const void *x, const int bf16, int64_t c, struct run r, bool two,
                            bool fresh, float f, float *y)
{
	for (int64_t o = 0; o < r.count; o++, y += c) {
		const void *p = row_at(x, bf16, o * r.step * c);
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float v = simd_get(p, bf16, j);
			y[j] = (fresh ? 0 : y[j]) + f * (two ? v + simd_get(p, bf16, c + j) : v);
		}
	}
}

/* dx += f * dy for each window; dx points to the first one's pixel. */
SIMD_INLINE void spread_windows(const void *dy, const int bf16, int64_t c, struct run r, float f,
                                float *dx)
{
	for (int64_t o = 0; o < r.count; o++, dx += r.step * c)
		for (int64_t t = 0; t < r.taps; t++)
			SIMD_LOOP
			for (int64_t j = 0; j < c; j++)
				dx[t * c + j] += f * simd_get(dy, bf16, o * c + j);
}

/* Calls the loop with a constant number of channels if there are few: with a number that the
 * compiler does not know, the loop's overhead would exceed its work. */
SIMD_INLINE void add_widths(const void *x, const int bf16, int64_t c, struct run r, bool two,
                            bool fresh, float f, float *y)
{
	if (c == 16)
		add_pixels(x, bf16, 16, r, two, fresh, f, y);
	else if (c == 32)
		add_pixels(x, bf16, 32, r, two, fresh, f, y);
	else
		add_pixels(x, bf16, c, r, two, fresh, f, y);
}

SIMD_INLINE void add_taps(const void *x, const int bf16, int64_t c, struct run r, bool fresh,
                          float f, float *y)
{
	int64_t t = 0;
	if (r.taps > 1 && fresh)
		add_widths(x, bf16, c, r, true, true, f, y), t = 2;
	else if (fresh)
		add_widths(x, bf16, c, r, false, true, f, y), t = 1;
	for (; t + 2 <= r.taps; t += 2)
		add_widths(row_at(x, bf16, t * c), bf16, c, r, true, false, f, y);
	if (t < r.taps)
		add_widths(row_at(x, bf16, t * c), bf16, c, r, false, false, f, y);
}

SIMD_INLINE void spread_widths(const void *dy, const int bf16, int64_t c, struct run r, float f,
                               float *dx)
{
	if (c == 16)
		spread_windows(dy, bf16, 16, r, f, dx);
	else if (c == 32)
		spread_windows(dy, bf16, 32, r, f, dx);
	else
		spread_windows(dy, bf16, c, r, f, dx);
}

#define RUNS(type, bf16)                                                                 \
	SIMD_CLONES(void, add_run##type,                                                     \
	            (const void *x, int64_t c, struct run r, bool fresh, float f, float *y), \
	            (x, c, r, fresh, f, y))                                                  \
	{                                                                                    \
		add_taps(x, bf16, c, r, fresh, f, y);                                            \
	}                                                                                    \
	SIMD_CLONES(void, spread_run##type,                                                  \
	            (const void *dy, int64_t c, struct run r, float f, float *dx),           \
	            (dy, c, r, f, dx))                                                       \
	{                                                                                    \
		spread_widths(dy, bf16, c, r, f, dx);                                            \
	}

RUNS(, 0)
RUNS(_bf16, 1)

/* The means of windows (od, oh), one row of output; x is at its sample n. */
static void average_row(const struct window *w, const void *x, int64_t od, int64_t oh, float *y)
{
	int64_t d0, d1, h0, h1, whole[2], tap, c = w->in.c;
	struct run r;
	window_taps(w, 0, od, &d0, &d1);
	window_taps(w, 1, oh, &h0, &h1);
	window_whole(w, &whole[0], &whole[1]);
	for (int64_t kd = d0; kd < d1; kd++)
		for (int64_t kh = h0; kh < h1; kh++) {
			const int64_t row = row_offset(&w->in, 0, od * w->s[0] - w->lo[0] + kd,
			                               oh * w->s[1] - w->lo[1] + kh);
			for (int64_t ow = 0; ow < w->out.d[2]; ow += r.count) {
				r = run_from(w, ow, whole, &tap);
				const int64_t at = row + (ow * w->s[2] - w->lo[2] + tap) * c;
				(w->bf16 ? add_run_bf16 : add_run)(
					row_at(x, w->bf16, at), c, r, kd == d0 && kh == h0,
					(float)share(w, (int64_t[]){ od, oh, ow }), y + ow * c);
			}
		}
}

static int cpu_run(const struct kplan *k, const struct kargs *a)
{
	const struct window *w = k->state;
	const struct grid *g = &w->out;
	int64_t rows = g->n * g->d[0] * g->d[1], length = g->d[2] * g->c;
	const struct row_out r = row_out_of(k, a, length);
#pragma omp parallel for schedule(static) if (rows * length > FORK_FLOATS)
	for (int64_t i = 0; i < rows; i++) {
		const int64_t image = row_offset(&w->in, i / (g->d[0] * g->d[1]), 0, 0);
		float *y = row_begin(&r, i);
		average_row(w, row_at(a->in[0], w->bf16, image), i / g->d[1] % g->d[0], i % g->d[1],
		            y);
		row_end(&r, i, y);
	}
	return 0;
}

/* Adds the gradient of the windows of output row (n, od, oh), at dy, to the input row at dx. */
static void spread_row(const struct window *w, const void *dy, int64_t od, int64_t oh, float *dx)
{
	int64_t whole[2], tap, c = w->in.c;
	struct run r;
	window_whole(w, &whole[0], &whole[1]);
	for (int64_t ow = 0; ow < w->out.d[2]; ow += r.count) {
		r = run_from(w, ow, whole, &tap);
		(w->bf16 ? spread_run_bf16 : spread_run)(
			row_at(dy, w->bf16, ow * c), c, r, (float)share(w, (int64_t[]){ od, oh, ow }),
			dx + (ow * w->s[2] - w->lo[2] + tap) * c);
	}
}

static void grad_row(const struct window *w, const void *dy, int64_t n, int64_t d, int64_t h,
                     float *dx)
{
	int64_t d0, d1, h0, h1;
	memset(dx, 0, sizeof *dx * (size_t)(w->in.d[2] * w->in.c));
	window_covers(w, 0, d, &d0, &d1);
	window_covers(w, 1, h, &h0, &h1);
	for (int64_t od = d0; od < d1; od++)
		for (int64_t oh = h0; oh < h1; oh++)
			spread_row(w, row_at(dy, w->bf16, row_offset(&w->out, n, od, oh)), od, oh,
			           dx);
}

static int cpu_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct window *w = k->state;
	const struct grid *g = &w->in;
	int64_t rows = g->n * g->d[0] * g->d[1], length = g->d[2] * g->c;
	const struct row_out r = row_out_of(k, a, length);
#pragma omp parallel for schedule(static) if (rows * length > FORK_FLOATS)
	for (int64_t i = 0; i < rows; i++) {
		float *dx = row_begin(&r, i);
		grad_row(w, a->in[0], i / (g->d[0] * g->d[1]), i / g->d[1] % g->d[0], i % g->d[1],
		         dx);
		row_end(&r, i, dx);
	}
	return 0;
}

/* --- samples --- */

static const char *const samples[] = {
	"2x3x8x6; kernel: 2",
	"2x17x7x9; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1, count_padding: false",
	"1x1x5x7; kernel: [3, 2], stride: 1, pad_lo: [0, 1], pad_hi: [2, 0]",
	"1x3x5x4x6; kernel: [2, 3, 2], stride: [2, 1, 2], pad_hi: [1, 1, 0], count_padding: false",
	"2x5x9; kernel: 3, stride: 2",
	"1x3x8x11; kernel: 2, stride: [3, 4], pad_lo: 1",
	"2x48x16x18; kernel: 2",
	"1x16x6x9x11; kernel: 2, stride: 2, pad_lo: 1",
	"2x32x9x8; kernel: 2, stride: 1, pad_hi: 1, count_padding: false",
	"1x36x7x6; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1", "1x728x3x4; kernel: 2",
	NULL
};
static const char *const grad_samples[] = {
	"2x16x4x5; kernel: 2, input_size: [8, 11]",
	"1x32x9x8; kernel: 2, stride: 1, pad_hi: 1, input_size: [9, 8], count_padding: false",
	"2x3x4x3; kernel: 2, input_size: [8, 6]",
	"2x17x4x5; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1, input_size: [7, 9], count_padding: "
	"false",
	"1x3x3x4x3; kernel: [2, 3, 2], stride: [2, 1, 2], pad_hi: [1, 2, 0], input_size: [5, 4, 6]",
	"2x24x4x4; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1, input_size: [8, 7], count_padding: "
	"false",
	"1x16x3x3x2; kernel: 3, stride: [1, 2, 2], input_size: [5, 7, 6]",
	"1x16x3x5x6; kernel: 2, stride: 2, pad_lo: 1, input_size: [6, 9, 11]",
	NULL
};

/* --- records --- */

static const struct op op_average_pool = {
	.name = "average_pool",
	.doc = "mean over windows",
	.flags = OP_LAYER,
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct pool), .attrs = fields,
	.shape = shape, .grad = grad, .reads = window_reads,
	.part = reads_window_part, .cost = window_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = window_plan, .run = ref_average_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = window_plan, .run = cpu_run,
		                  .bf16_in = 1, .bf16_out = 1 },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = window_cuda_plan, .run = average_pool_cuda,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = samples,
};

static const struct op op_average_pool_grad = {
	.name = "average_pool_grad",
	.doc = "gradient of average_pool",
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct pool), .attrs = grad_fields,
	.shape = grad_shape, .grad = grad_grad, .cost = window_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = window_plan_grad,
		                        .run = ref_average_grad_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = window_plan_grad, .run = cpu_grad_run,
		                  .bf16_in = 1, .bf16_out = 1 },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = window_cuda_plan_grad,
		            .run = average_pool_grad_cuda,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = grad_samples,
};

OPSET(average_pool, &op_average_pool, &op_average_pool_grad);
