/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Depthwise convolutions (as many groups as channels) and their gradients, with AVX-512. Channels
 * are independent, so vectors hold channels, and loops run over pixels. The weights may have any
 * layout; forward and the gradient to the input copy them, tap by tap, into the workspace. The
 * gradient to the weights is summed over each row, then over the rows of a chunk, then over chunks;
 * the division depends on the shape and not on the number of threads. oneDNN 2.6 has no
 * implementation for the gradients of dilated depthwise convolutions: it pads each channel to a
 * block of 16 x 16, and stores weights and their gradients in that form. */
#include <math.h>
#include <string.h>

#include "base/round.h"
#include "op/conv/conv_args.h"
#include "op/conv/conv_algorithm.h"
#include "op/conv/conv_frame.h"
#include "op/conv/conv_shape.h"
#include "op/winograd/winograd_simd.h"

#if defined(__x86_64__)

#define RATE 40e9              /* multiply-adds per second */
#define UNIT (2 * WINO_LANES)  /* channels in a unit of the gradient to the weights */
#define UNITS 32
#define MOST_TAPS 128

struct depthwise {
	struct conv_kernel base;
	struct conv_frame f;
	bool bf16, bf16_result, bias;
	bool bf16_sum;               /* the addend is bf16 */
	int64_t sum_px;              /* elements from pixel to pixel of the addend */
	const int32_t *at;           /* offset of the weight of tap t of channel c: at[t * padded +
	                              * c] */
	int64_t taps, padded;        /* padded: channels, rounded up to whole vectors */
	int64_t elements;            /* size of the weights' buffer in elements */
	bool dense;
	int64_t units, chunks, rows; /* gradient to the weights: units of channels, chunks of rows; rows
	                              * of y */
};

static bool frame_of(const struct conv_task *t, struct conv_frame *f)
{
	struct conv_task own = *t;
	const struct conv_geom *g = &t->geom;
	own.geom.groups = 1;
	return g->groups > 1 && g->groups == g->ci && g->ci == g->co && wino_has_cpu() &&
	       (t->dtype == DTYPE_F32 || t->dtype == DTYPE_BF16) && conv_frame_make(f, &own) &&
	       conv_frame_taps(f) <= MOST_TAPS;
}

static int choose(struct conv_task *t)
{
	const struct shape xs = conv_x_shape(&t->geom), ys = conv_y_shape(&t->geom);
	const struct shape ws = conv_w_shape(&t->geom);
	struct conv_frame f;
	t->x = layout_native(&xs);
	t->y = layout_native(&ys);
	if (t->kind == CONV_BACKWARD_WEIGHTS && layout_elements(&t->w) > 2 * shape_count(&ws))
		t->w = layout_plain(&ws);
	return frame_of(t, &f) && t->w.set;
}

static double seconds(const struct conv_task *t)
{
	struct conv_frame f;
	return frame_of(t, &f) ? conv_macs(&t->geom) / RATE + 5e-6 : INFINITY;
}

static void set_weights(struct depthwise *d, const struct layout *l, struct arena *arena)
{
	int32_t *at = ARENA_ARRAY(arena, int32_t, d->taps * d->padded);
	for (int64_t t = 0; t < d->taps; t++)
		for (int64_t c = 0; c < d->f.ci; c++)
			at[t * d->padded + c] = (int32_t)layout_offset(l, c * d->taps + t);
	d->at = at;
	d->elements = layout_elements(l);
	d->dense = layout_is_dense(l);
}

static int plan(struct kplan *k, const struct conv_task *t)
{
	struct depthwise *d = ARENA_NEW(k->arena, struct depthwise);
	if (!frame_of(t, &d->f) || !t->w.set || layout_elements(&t->w) > INT32_MAX)
		return 0;
	d->base = (struct conv_kernel){ &conv_depthwise, t->kind };
	d->bf16 = t->dtype == DTYPE_BF16;
	d->bf16_result = t->result == DTYPE_BF16;
	d->bias = t->bias;
	d->bf16_sum = t->sum_dtype == DTYPE_BF16;
	d->sum_px = t->sum_px;
	d->taps = conv_frame_taps(&d->f);
	d->padded = ceil_div(d->f.ci, UNIT) * UNIT;
	set_weights(d, &t->w, k->arena);
	d->rows = d->f.n * d->f.y.size[DEPTH] * d->f.y.size[HEIGHT];
	d->units = d->padded / UNIT;
	d->chunks = ceil_div(UNITS, d->units);
	if (d->chunks > d->rows)
		d->chunks = d->rows;
	k->ws_bytes = sizeof(float) * (size_t)(d->taps * d->padded);
	if (t->kind == CONV_BACKWARD_WEIGHTS)
		k->ws_bytes = sizeof(float) * (size_t)((d->taps + 1) * d->padded * d->chunks);
	k->state = d;
	k->impl = "depthwise:avx512";
	return 1;
}

static __mmask16 lanes(int64_t channels, int64_t c)
{
	const int64_t left = channels - c;
	return left >= WINO_LANES ? 0xFFFF : left <= 0 ? 0 : (__mmask16)((1u << left) - 1);
}

/* --- forward, and backward to the input --- */

static void copy_weights(const struct depthwise *d, const void *from, float *w)
{
	for (int64_t i = 0; i < d->taps * d->padded; i++) {
		const uint32_t u = d->bf16 ? (uint32_t)((const uint16_t *)from)[d->at[i]] << 16 : 0;
		memcpy(&w[i], d->bf16 ? (const void *)&u : (const float *)from + d->at[i], 4);
	}
}

/* The position along an axis of the source that position i of the result reads with tap k; -1:
 * padding, or between two positions of a stride. */
static int64_t source_at(const struct depthwise *d, int axis, int64_t k, int64_t i)
{
	const struct conv_frame *f = &d->f;
	int64_t at = conv_frame_at(f, axis, k, i);
	if (d->base.kind == CONV_FORWARD)
		return at < f->x.size[axis] ? at : -1;
	at = i + f->pad[axis] - k * f->dilation[axis];
	if (at < 0 || at % f->stride[axis])
		return -1;
	at /= f->stride[axis];
	return at < f->y.size[axis] ? at : -1;
}

/* The inputs of one pixel of the result. */
struct sources {
	int n;
	const void *from[MOST_TAPS];
	const float *w[MOST_TAPS];
};

/* bias, add: may be NULL. */
WINO_TARGET static void sum_pixel(const struct depthwise *d, const struct sources *s,
                                  const float *bias, const void *add, void *to)
{
	const int64_t channels = d->f.ci;
	for (int64_t c = 0; c < channels; c += WINO_LANES) {
		const __mmask16 m = lanes(channels, c);
		vec sum = bias ? _mm512_maskz_loadu_ps(m, bias + c) : _mm512_setzero_ps();
		for (int i = 0; i < s->n; i++)
			sum = _mm512_fmadd_ps(v_load(row_at(s->from[i], d->bf16, c), d->bf16, m),
			                      _mm512_loadu_ps(s->w[i] + c), sum);
		if (add)
			sum = v_add(sum, v_load(row_at(add, d->bf16_sum, c), d->bf16_sum, m));
		v_store((char *)to + c * (d->bf16_result ? 2 : 4), d->bf16_result, m, sum);
	}
}

/* One row of the result. Position i along an axis reads source_at() with tap k. */
struct row {
	const struct depthwise *d;
	const struct conv_side *from;
	const void *source;
	const float *w;
	int64_t n, z, h;
};

static void find_sources(const struct row *r, int64_t column, struct sources *s)
{
	const struct depthwise *d = r->d;
	const int64_t *kernel = d->f.kernel;
	s->n = 0;
	for (int64_t t = 0; t < d->taps; t++) {
		const int64_t kd = t / kernel[WIDTH] / kernel[HEIGHT];
		const int64_t kh = t / kernel[WIDTH] % kernel[HEIGHT];
		const int64_t z = source_at(d, DEPTH, kd, r->z), h = source_at(d, HEIGHT, kh, r->h);
		const int64_t c = source_at(d, WIDTH, t % kernel[WIDTH], column);
		if (z < 0 || h < 0 || c < 0)
			continue;
		s->from[s->n] = row_at(r->source, d->bf16,
		                        r->n * r->from->image + z * r->from->step[DEPTH] +
		                        h * r->from->step[HEIGHT] + c * r->from->step[WIDTH]);
		s->w[s->n++] = r->w + t * d->padded;
	}
}

static void run_rows(const struct depthwise *d, const struct conv_args *a, const float *w)
{
	const bool back = d->base.kind == CONV_BACKWARD_DATA;
	const void *source = back ? a->y : a->x;
	char *result = back ? a->x : a->y;
	const struct conv_side *from = back ? &d->f.y : &d->f.x, *to = back ? &d->f.x : &d->f.y;
	const int64_t height = to->size[HEIGHT], depth = to->size[DEPTH];

#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < d->f.n * depth * height; i++) {
		const struct row r = { d, from, source, w, i / height / depth,
				       i / height % depth, i % height };
		const int64_t at = r.n * to->image + r.z * to->step[DEPTH] + r.h * to->step[HEIGHT];
		struct sources s;
		for (int64_t c = 0; c < to->size[WIDTH]; c++) {
			const int64_t pixel = i * to->size[WIDTH] + c;
			find_sources(&r, c, &s);
			sum_pixel(d, &s, a->bias,
			          a->sum ? row_at(a->sum, d->bf16_sum, pixel * d->sum_px) : NULL,
			          result + (at + c * to->step[WIDTH]) * (d->bf16_result ? 2 : 4));
		}
	}
}

/* --- backward to the weights --- */

/* Sums over adjacent pixels of a row, for one tap and two vectors of channels. Two pixels are added
 * at a time, to four independent sums, to hide latency. If x is NULL, sums dy only. */
WINO_INLINE void sum_pixels(const struct depthwise *d, bool bf16, const void *x, const void *y,
                            int64_t n, int64_t channel, float *sum)
{
	const int64_t xs = d->f.stride[WIDTH] * d->f.x.step[WIDTH], ys = d->f.y.step[WIDTH];
	const vec one = _mm512_set1_ps(1);
	const __mmask16 m[2] = { lanes(d->f.ci, channel), lanes(d->f.ci, channel + WINO_LANES) };
	const vec zero = _mm512_setzero_ps();
	vec s[4] = { zero, zero, zero, zero };

	for (int64_t i = 0; i < n; i += 2)
		WINO_UNROLL
		for (int j = 0; j < 4; j++) {
			const int64_t c = channel + j % 2 * WINO_LANES, p = i + j / 2;
			const __mmask16 k = p < n ? m[j % 2] : 0;
			const vec a = v_load(row_at(y, bf16, p * ys + c), bf16, k);
			const vec b = x ? v_load(row_at(x, bf16, p * xs + c), bf16, k) : one;
			s[j] = _mm512_fmadd_ps(a, b, s[j]);
		}
	for (int v = 0; v < 2; v++) {
		float *to = sum + v * WINO_LANES;
		_mm512_storeu_ps(to, v_add(_mm512_loadu_ps(to), v_add(s[v], s[v + 2])));
	}
}

WINO_TARGET static void sum_row(const struct depthwise *d, const void *x, const void *y, int64_t n,
                                int64_t channel, float *sum)
{
	if (d->bf16)
		sum_pixels(d, true, x, y, n, channel, sum);
	else
		sum_pixels(d, false, x, y, n, channel, sum);
}

/* Sums for the taps of one row of y. sum: (taps, then the bias) x UNIT. */
static void sum_taps(const struct depthwise *d, const struct conv_args *a, int64_t r, int64_t unit,
                     float *sum)
{
	const struct conv_frame *f = &d->f;
	const int64_t height = f->y.size[HEIGHT], depth = f->y.size[DEPTH];
	const int64_t h = r % height, z = r / height % depth, n = r / height / depth;
	const int64_t y = n * f->y.image + z * f->y.step[DEPTH] + h * f->y.step[HEIGHT];
	for (int64_t t = 0; t < d->taps; t++) {
		const int64_t k = t % f->kernel[WIDTH], row = t / f->kernel[WIDTH];
		const int64_t xh = conv_frame_at(f, HEIGHT, row % f->kernel[HEIGHT], h);
		const int64_t xz = conv_frame_at(f, DEPTH, row / f->kernel[HEIGHT], z);
		const struct conv_range c = conv_frame_range(f, WIDTH, k);
		if (xh < 0 || xh >= f->x.size[HEIGHT] || xz < 0 || xz >= f->x.size[DEPTH] ||
		    c.lo >= c.hi)
			continue;
		const int64_t x = n * f->x.image + xz * f->x.step[DEPTH] + xh * f->x.step[HEIGHT] +
				  conv_frame_at(f, WIDTH, k, c.lo) * f->x.step[WIDTH];
		sum_row(d, row_at(a->x, d->bf16, x),
		        row_at(a->y, d->bf16, y + c.lo * f->y.step[WIDTH]), c.hi - c.lo, unit * UNIT,
		        sum + t * UNIT);
	}
	if (d->bias)
		sum_row(d, NULL, row_at(a->y, d->bf16, y), f->y.size[WIDTH], unit * UNIT,
		        sum + d->taps * UNIT);
}

static void store_unit(const struct depthwise *d, const struct conv_args *a, int64_t unit,
                       const float *sum)
{
	float *dw = a->w, *bias = a->bias;
	const int64_t first = unit * UNIT;
	const int64_t n = d->f.ci - first < UNIT ? d->f.ci - first : UNIT;
	for (int64_t t = 0; t < d->taps; t++)
		for (int64_t c = 0; c < n; c++)
			dw[d->at[t * d->padded + first + c]] = sum[t * UNIT + c];
	if (d->bias)
		memcpy(bias + first, sum + d->taps * UNIT, sizeof *sum * (size_t)n);
}

static void run_weights(const struct depthwise *d, const struct conv_args *a, float *ws)
{
	const int64_t size = (d->taps + 1) * UNIT;
	if (!d->dense)
		memset(a->w, 0, sizeof(float) * (size_t)d->elements);
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < d->units * d->chunks; i++) {
		const int64_t chunk = i / d->units, unit = i % d->units;
		const int64_t end = d->rows * (chunk + 1) / d->chunks;
		float *sum = ws + i * size;
		memset(sum, 0, sizeof *sum * (size_t)size);
		for (int64_t r = d->rows * chunk / d->chunks; r < end; r++)
			sum_taps(d, a, r, unit, sum);
	}
	for (int64_t unit = 0; unit < d->units; unit++) {
		float *sum = ws + unit * size;
		for (int64_t c = 1; c < d->chunks; c++)
			for (int64_t i = 0; i < size; i++)
				sum[i] += ws[(c * d->units + unit) * size + i];
		store_unit(d, a, unit, sum);
	}
}

static int run(const struct kplan *k, const struct kargs *args)
{
	const struct depthwise *d = k->state;
	const struct conv_args a = conv_args_get(d->base.kind, k, args);
	if (d->base.kind == CONV_BACKWARD_WEIGHTS) {
		run_weights(d, &a, args->ws);
		return 0;
	}
	copy_weights(d, a.w, args->ws);
	run_rows(d, &a, args->ws);
	return 0;
}

const struct conv_algorithm conv_depthwise = {
	"depthwise", choose, seconds, plan, run, NULL, .slices = true
};

#endif
