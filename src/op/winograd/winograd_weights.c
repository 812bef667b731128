/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Winograd convolution, gradient to the weights. A task is one segment of the tiles for WINO_K
 * input and WINO_PANEL output channels. It sums the products of transformed inputs and transformed
 * output gradients in its L2 cache and transforms the sums back. With one segment this is the
 * result; the sums of several segments are added in order at the end. The gradient of the bias
 * needs no separate loop: the transformed output gradient at point 1 of both axes is the sum over
 * its tile. */
#include "op/winograd/winograd_simd.h"

#include <string.h>

#if defined(__x86_64__)

#define AT_ONE(alpha) ((alpha) + 1)      /* the position of point 1 on both axes */

/* Floats of a task's partial sums: WINO_K x 2 vectors for all taps, then the bias. */
static int64_t task_elements(const struct wino *w)
{
	return WINO_K * WINO_PANEL * w->form->r * w->form->r + WINO_PANEL;
}

static int64_t matrix_elements(const struct wino *w)
{
	return wino_positions(w) * wino_pos(WINO_K, WINO_K);
}

static int64_t partial_elements(const struct wino *w)
{
	return (w->nsegment > 1 ? w->nsegment * w->nchunk * w->npanel : 0) * task_elements(w);
}

/* Floats of a thread's buffers: three matrices and, if there is only one segment, a task's sums. */
static int64_t thread_elements(const struct wino *w)
{
	return 3 * matrix_elements(w) + (w->nsegment > 1 ? 0 : task_elements(w));
}

size_t wino_weights_workspace(const struct wino *w)
{
	const int64_t biases = w->nsegment > 1 ? 0 : w->npanel * WINO_PANEL;
	return (size_t)(partial_elements(w) + biases + thread_elements(w) * w->threads) * sizeof(float);
}

struct task {
	const struct wino *w;
	const void *x, *dy;
	int64_t chunk, panel;
	int64_t channels;         /* channels in the chunk */
	int nv;                   /* vectors in the panel */
	float *v, *z, *sum;       /* buffers of this thread */
	float *partial, *bias;
};

static void gradient_block(const struct task *t, const struct wino_spot *s, int64_t count)
{
	const struct wino *w = t->w;
	const int64_t pos = wino_pos(WINO_K, t->nv * WINO_LANES);
	for (int64_t i = 0; i < count; i++)
		for (int j = 0; j < t->nv; j++) {
			const int64_t o = t->panel * WINO_PANEL + j * WINO_LANES;
			const int64_t next = s[i + 1 < count ? i + 1 : i].at;
			struct wino_pixels p = wino_pixels_y(w, o);
			p.span = s[i].span;
			w->form->gradient[w->bf16](row_at(t->dy, w->bf16, s[i].at + o),
			                           row_at(t->dy, w->bf16, next + o), &p,
			                           t->z + (i * t->nv + j) * WINO_LANES, pos);
		}
}

static void add_block(const struct task *t, int64_t block, bool add)
{
	const struct wino *w = t->w;
	const int width = t->nv * WINO_LANES, alpha = w->form->alpha;
	const int64_t first = block * WINO_K, count = wino_least(WINO_K, w->ntile - first);
	const int64_t pos = wino_pos(WINO_K, width), one = AT_ONE(alpha) * pos;
	struct wino_spot s[WINO_K];
	wino_spots_x(w, first, count, s);
	wino_input_block(w, t->x, t->chunk, s, count, t->v);
	wino_spots_y(w, first, count, s);
	gradient_block(t, s, count);
	for (int64_t p = 0; p < alpha * alpha; p++)
		wino_multiply_transposed((int)t->channels, t->nv, (int)count,
		                         t->v + p * wino_pos(WINO_K, WINO_K), t->z + p * pos,
		                         t->sum + p * pos, add);
	if (t->chunk > 0)
		return;
	for (int64_t i = 0; i < count; i++)
		for (int j = 0; j < width; j++)
			t->bias[j] = t->z[one + i * width + j] + (add || i > 0 ? t->bias[j] : 0);
}

static void finish(const struct task *t)
{
	const int64_t taps = t->w->form->r * t->w->form->r;
	for (int64_t i = 0; i < t->channels; i++)
		for (int j = 0; j < t->nv; j++)
			t->w->form->weight_gradient(t->sum + (i * t->nv + j) * WINO_LANES,
			                            wino_pos(WINO_K, t->nv * WINO_LANES),
			                            t->partial + (i * 2 + j) * taps * WINO_LANES);
}

static void run_task(struct task *t, int64_t segment)
{
	const struct wino *w = t->w;
	const int64_t first = segment * w->segment, end = wino_least(first + w->segment, w->nblock);
	t->channels = wino_channels(w, t->chunk);
	t->nv = wino_vectors(w, t->panel);
	for (int64_t b = first; b < end; b++)
		add_block(t, b, b > first);
	finish(t);
}

/* --- the sum of the segments --- */

/* The location of 16 output channels in dw. */
struct target {
	const struct wino *w;
	float *dw;
	int64_t o;
	__mmask16 lanes;
	bool dense;
};

static struct target target_at(const struct wino *w, float *dw, int64_t o)
{
	const unsigned lanes = wino_pixels_y(w, o).lanes;
	return (struct target){ w, dw, o, (__mmask16)lanes, wino_steps(w->at_o + o, lanes, 1) };
}

WINO_INLINE void put(const struct target *t, int64_t i, int64_t tap, vec v)
{
	const int32_t *at = t->w->at_o + t->o;
	float *to = t->dw + t->w->at_i[i] + t->w->tap[tap];
	if (t->dense)
		_mm512_mask_storeu_ps(to + *at, t->lanes, v);
	else
		_mm512_mask_i32scatter_ps(to, t->lanes, _mm512_loadu_si512(at), v, 4);
}

/* Adds the segments' sums for the taps of one plane, from input channel i to 16 output channels;
 * from: those of the first segment. */
WINO_TARGET static void sum_segments(const struct wino *w, const float *from, int64_t i, int64_t o,
                                     int64_t deep, float *dw)
{
	const int64_t step = w->nchunk * w->npanel * task_elements(w);
	const int64_t taps = w->form->r * w->form->r;
	const struct target to = target_at(w, dw, o);
	for (int64_t t = 0; t < taps; t++) {
		vec v = _mm512_loadu_ps(from + t * WINO_LANES);
		for (int64_t s = 1; s < w->nsegment; s++)
			v = _mm512_add_ps(v, _mm512_loadu_ps(from + s * step + t * WINO_LANES));
		put(&to, i, deep * taps + t, v);
	}
}

/* Stores all sums of a task if there is only one segment. The loop is tap by tap, since in most
 * layouts that writes long runs. */
WINO_TARGET static void put_task(const struct task *t, float *dw)
{
	const int64_t taps = t->w->form->r * t->w->form->r, first = t->chunk % t->w->npart * WINO_K;
	const int64_t deep = t->chunk / t->w->npart;
	struct target to[2];
	for (int j = 0; j < t->nv; j++)
		to[j] = target_at(t->w, dw, t->panel * WINO_PANEL + j * WINO_LANES);
	for (int64_t tap = 0; tap < taps; tap++)
		for (int64_t i = 0; i < t->channels; i++)
			for (int j = 0; j < t->nv; j++)
				put(&to[j], first + i, deep * taps + tap,
				    _mm512_loadu_ps(t->partial + ((i * 2 + j) * taps + tap) * WINO_LANES));
}

static void sum_weights(const struct wino *w, const float *partial, float *dw)
{
	const int64_t vecs = (w->co + WINO_LANES - 1) / WINO_LANES, n = vecs * w->ci * w->deep_taps;
	const int64_t taps = w->form->r * w->form->r;
#pragma omp parallel for schedule(static) num_threads(w->threads)
	for (int64_t k = 0; k < n; k++) {
		const int64_t o = k % vecs * WINO_LANES, i = k / vecs % w->ci, deep = k / vecs / w->ci;
		const int64_t chunk = deep * w->npart + i / WINO_K;
		const int64_t task = chunk * w->npanel + o / WINO_PANEL;
		const int64_t at = i % WINO_K * 2 + o / WINO_LANES % 2;
		sum_segments(w, partial + task * task_elements(w) + at * taps * WINO_LANES, i, o,
		             deep, dw);
	}
}

static void sum_bias(const struct wino *w, const float *partial, float *dbias)
{
	const int64_t size = task_elements(w);
	for (int64_t o = 0; o < w->co; o++) {
		const float *p = partial + (o / WINO_PANEL + 1) * size - WINO_PANEL + o % WINO_PANEL;
		float sum = 0;
		for (int64_t s = 0; s < w->nsegment; s++)
			sum += p[s * w->nchunk * w->npanel * size];
		dbias[o] = sum;
	}
}

static struct task task_of(const struct wino *w, const void *x, const void *dy, int64_t i,
                           float *own)
{
	struct task t = { .w = w, .x = x, .dy = dy, .chunk = i / w->npanel % w->nchunk,
		.panel = i % w->npanel };
	t.v = own + wino_thread() * thread_elements(w);
	t.z = t.v + matrix_elements(w);
	t.sum = t.z + matrix_elements(w);
	t.partial = t.sum + matrix_elements(w);
	return t;
}

static void run_one_segment(const struct wino *w, const void *x, const void *dy, float *dw,
                            float *dbias, float *ws)
{
	float *bias = ws, *own = ws + w->npanel * WINO_PANEL;
#pragma omp parallel for schedule(dynamic) num_threads(w->threads)
	for (int64_t i = 0; i < w->nchunk * w->npanel; i++) {
		struct task t = task_of(w, x, dy, i, own);
		t.bias = bias + t.panel * WINO_PANEL;
		run_task(&t, 0);
		put_task(&t, dw);
	}
	if (dbias)
		memcpy(dbias, bias, (size_t)w->co * sizeof *bias);
}

static void run_segments(const struct wino *w, const void *x, const void *dy, float *dw,
                         float *dbias, float *ws)
{
	const int64_t tasks = w->nsegment * w->nchunk * w->npanel;
#pragma omp parallel for schedule(dynamic) num_threads(w->threads)
	for (int64_t i = 0; i < tasks; i++) {
		struct task t = task_of(w, x, dy, i, ws + partial_elements(w));
		t.partial = ws + i * task_elements(w);
		t.bias = t.partial + task_elements(w) - WINO_PANEL;
		run_task(&t, i / w->npanel / w->nchunk);
	}
	sum_weights(w, ws, dw);
	if (dbias)
		sum_bias(w, ws, dbias);
}

void wino_run_weights(const struct wino *w, const void *x, const void *dy, float *dw, float *dbias,
                      float *ws)
{
	if (w->w_padded)
		memset(dw, 0, (size_t)w->w_elements * sizeof *dw);
	if (w->nsegment > 1)
		run_segments(w, x, dy, dw, dbias, ws);
	else
		run_one_segment(w, x, dy, dw, dbias, ws);
}

#endif
