/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Winograd convolution, forward and gradient to the input. Weights are transformed into the
 * workspace; then each thread takes blocks of tiles through input transform, products and output
 * transform. With more than WINO_K input channels, the sums of a group of panels are kept over all
 * chunks; for the next group the inputs are transformed again, which costs less than keeping
 * them. */
#include "op/winograd/winograd_simd.h"

#if defined(__x86_64__)

/* --- workspace --- */

static int64_t u_elements(const struct wino *w)
{
	return w->npanel * w->nchunk * wino_u_elements(w, 2);
}

static int64_t thread_elements(const struct wino *w)
{
	return wino_v_elements(w) + w->group * wino_m_elements(w);
}

size_t wino_workspace(const struct wino *w)
{
	if (w->few)
		return wino_few_workspace(w);
	return (size_t)(u_elements(w) + thread_elements(w) * w->threads) * sizeof(float);
}

/* --- weights --- */

static float *u_at(const struct wino *w, float *u, int64_t panel, int64_t chunk)
{
	return u + panel * w->nchunk * wino_u_elements(w, 2) +
	       chunk * wino_u_elements(w, wino_vectors(w, panel));
}

static void transform_weights(const struct wino *w, const void *from, float *u)
{
	const int64_t vecs = (w->co + WINO_LANES - 1) / WINO_LANES;
	const int64_t parts = (w->ci + WINO_LANES - 1) / WINO_LANES, n = vecs * w->deep_taps * parts;
#pragma omp parallel for schedule(static) num_threads(w->threads)
	for (int64_t j = 0; j < n; j++) {
		const int64_t i = j % parts * WINO_LANES, deep = j / parts % w->deep_taps;
		const int64_t o = j / parts / w->deep_taps * WINO_LANES, panel = o / WINO_PANEL;
		const int64_t chunk = deep * w->npart + i / WINO_K;
		const int width = wino_vectors(w, panel) * WINO_LANES;
		wino_weights_block(w, from, deep, i, o,
		                   u_at(w, u, panel, chunk) + i % WINO_K * width + o % WINO_PANEL, width);
	}
}

/* --- a block of tiles --- */

void wino_input_block(const struct wino *w, const void *x, int64_t chunk, const struct wino_spot *s,
                      int64_t count, float *v)
{
	const int64_t pos = wino_pos(w->block, WINO_K), channels = wino_channels(w, chunk);
	const int64_t channel = chunk % w->npart * WINO_K, deep = chunk / w->npart * w->deep_step;
	const int64_t shift = deep * w->in[0] * w->in[1] * w->x_px + channel;
	for (int64_t t = 0; t < count; t++) {
		const int64_t plane = s[t].plane + deep;
		const bool there = plane >= 0 && plane < w->deep_in;
		for (int64_t c = 0; c < channels; c += WINO_LANES) {
			const int64_t next = s[t + 1 < count ? t + 1 : t].at;
			struct wino_pixels p = wino_pixels_x(w, channel + c);
			p.span = there ? s[t].span : (struct wino_span){ 0 };
			w->form->input[w->bf16](row_at(x, w->bf16, s[t].at + shift + c),
			                        row_at(x, w->bf16, next + shift + c), &p,
			                        v + t * WINO_K + c, pos);
		}
	}
}

void wino_multiply_block(const struct wino *w, int nv, int k, const float *u, int64_t count,
                         const float *v, float *m, bool add)
{
	const int width = nv * WINO_LANES;
	for (int64_t p = 0; p < wino_positions(w); p++)
		wino_multiply((int)count, nv, k, v + p * wino_pos(w->block, WINO_K),
		              u + p * wino_pos(WINO_K, width), m + p * wino_pos(w->block, width),
		              add);
}

/* The addend for the tile at s, from channel o on. */
static struct wino_sum sum_at(const struct wino *w, const struct wino_result *r,
                              const struct wino_spot *s, int64_t o)
{
	const int64_t pixel = s->at / w->y_px;
	return (struct wino_sum){ .at = row_at(r->sum, w->bf16_sum, pixel * w->sum_px + o),
	                          .row = w->out[1] * w->sum_px * w->dilation[0],
	                          .col = w->sum_px * w->dilation[1], .bf16 = w->bf16_sum };
}

void wino_output_block(const struct wino *w, int64_t panel, const float *m,
                       const struct wino_result *r, const struct wino_spot *s, int64_t count)
{
	const int nv = wino_vectors(w, panel);
	const int64_t pos = wino_pos(w->block, nv * WINO_LANES);
	for (int64_t t = 0; t < count; t++)
		for (int j = 0; j < nv; j++) {
			const int64_t o = panel * WINO_PANEL + j * WINO_LANES;
			struct wino_pixels p = wino_pixels_y(w, o);
			struct wino_sum sum;
			p.span = s[t].span;
			if (r->sum)
				sum = sum_at(w, r, &s[t], o);
			w->form->output[w->bf16_y](m + (t * nv + j) * WINO_LANES, pos,
			                           r->bias ? r->bias + o : NULL, r->sum ? &sum : NULL,
			                           (char *)r->y + (s[t].at + o) * (w->bf16_y ? 2 : 4),
			                           &p);
		}
}

struct job {
	const struct wino *w;
	const void *x;
	const struct wino_result *r;
	float *u;
	float *v, *m;             /* buffers of this thread */
};

/* With one chunk: transforms the inputs once and computes all panels from them. */
static void one_chunk(const struct job *j, const struct wino_spot *sx, const struct wino_spot *sy,
                      int64_t count)
{
	const struct wino *w = j->w;
	wino_input_block(w, j->x, 0, sx, count, j->v);
	for (int64_t panel = 0; panel < w->npanel; panel++) {
		wino_multiply_block(w, wino_vectors(w, panel), (int)w->ci, u_at(w, j->u, panel, 0), count,
		               j->v, j->m, false);
		wino_output_block(w, panel, j->m, j->r, sy, count);
	}
}

static void many_chunks(const struct job *j, int64_t group, const struct wino_spot *sx,
                        const struct wino_spot *sy, int64_t count)
{
	const struct wino *w = j->w;
	const int64_t first = group * w->group, n = wino_least(w->group, w->npanel - first);
	for (int64_t chunk = 0; chunk < w->nchunk; chunk++) {
		wino_input_block(w, j->x, chunk, sx, count, j->v);
		for (int64_t i = 0; i < n; i++)
			wino_multiply_block(w, wino_vectors(w, first + i), (int)wino_channels(w, chunk),
			               u_at(w, j->u, first + i, chunk), count, j->v,
			               j->m + i * wino_m_elements(w), chunk > 0);
	}
	for (int64_t i = 0; i < n; i++)
		wino_output_block(w, first + i, j->m + i * wino_m_elements(w), j->r, sy, count);
}

static void run_block(const struct job *j, int64_t block, int64_t group)
{
	const struct wino *w = j->w;
	struct wino_spot sx[WINO_BLOCK], sy[WINO_BLOCK];
	const int64_t first = block * w->block, count = wino_least(w->block, w->ntile - first);
	wino_spots_x(w, first, count, sx);
	wino_spots_y(w, first, count, sy);
	if (w->nchunk == 1)
		one_chunk(j, sx, sy, count);
	else
		many_chunks(j, group, sx, sy, count);
}

void wino_run(const struct wino *w, const void *x, const void *weights, const struct wino_result *r,
              float *ws)
{
	float *u = ws, *own = u + u_elements(w);
	if (w->few) {
		wino_run_few(w, x, weights, r, ws);
		return;
	}
	transform_weights(w, weights, u);
#pragma omp parallel for schedule(dynamic) num_threads(w->threads)
	for (int64_t i = 0; i < w->nblock * w->ngroup; i++) {
		float *v = own + wino_thread() * thread_elements(w);
		const struct job j = { w, x, r, u, v, v + wino_v_elements(w) };
		run_block(&j, i / w->ngroup, i % w->ngroup);
	}
}

#endif
