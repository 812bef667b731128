/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Minimal filtering, forward and gradient to the input: weights are transformed into the workspace,
 * then each thread takes blocks of tiles through input transform, products and output transform.
 * With more than WINO_K input channels the products of a group of panels are kept meanwhile; the
 * inputs are transformed again for the next group, which costs less than keeping them. */
#include "op/winograd_simd.h"

#if defined(__x86_64__)

static int64_t positions(const struct wino *w)
{
	return w->form->alpha * w->form->alpha;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Vectors of channels in a panel: 1 or 2. */
static int vectors(const struct wino *w, int64_t panel)
{
	return w->co - panel * WINO_PANEL > WINO_LANES ? 2 : 1;
}

/* --- workspace --- */

static int64_t v_elements(const struct wino *w)
{
	return positions(w) * wino_pos(w->block, WINO_K);
}

static int64_t m_elements(const struct wino *w)
{
	return positions(w) * wino_pos(w->block, WINO_PANEL);
}

static int64_t chunk_elements(const struct wino *w, int nv)
{
	return positions(w) * wino_pos(WINO_K, nv * WINO_LANES);
}

static int64_t u_elements(const struct wino *w)
{
	return w->npanel * w->nchunk * chunk_elements(w, 2);
}

static int64_t thread_elements(const struct wino *w)
{
	return v_elements(w) + w->group * m_elements(w);
}

size_t wino_workspace(const struct wino *w)
{
	return (size_t)(u_elements(w) + thread_elements(w) * w->threads) * sizeof(float);
}

/* --- weights --- */

static float *u_at(const struct wino *w, float *u, int64_t panel, int64_t chunk)
{
	return u + panel * w->nchunk * chunk_elements(w, 2) +
	       chunk * chunk_elements(w, vectors(w, panel));
}

/* Whether 16 offsets, as far as they count, go up by `step`. */
WINO_TARGET static bool steps(const int32_t *at, unsigned lanes, int step)
{
	const __m512i v = _mm512_sub_epi32(_mm512_loadu_si512(at), _mm512_set1_epi32(at[0]));
	const __m512i n = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	const __m512i want = _mm512_mullo_epi32(n, _mm512_set1_epi32(step));
	return (_mm512_cmpneq_epi32_mask(v, want) & lanes) == 0;
}

/* 16 weights for output channels from o on, of the input channel and tap that `at` is for. */
struct gather {
	const struct wino *w;
	const void *from;
	int64_t o;
	__mmask16 lanes;
	bool dense;               /* side by side */
	bool pairs;               /* bf16, every other one: between them the neighbour channel's */
};

static struct gather gather_at(const struct wino *w, const void *from, int64_t o)
{
	struct gather g = { w, from, o, (__mmask16)wino_pixels_y(w, o).lanes, false, false };
	g.dense = steps(w->at_o + o, g.lanes, 1);
	g.pairs = w->half && w->w_elements % 2 == 0 && steps(w->at_o + o, g.lanes, 2);
	return g;
}

WINO_INLINE vec gather_pairs(const struct gather *g, int64_t at)
{
	const void *p = wino_at(g->from, true, at - at % 2);
	const __m512i u = _mm512_maskz_loadu_epi32(g->lanes, p);
	return _mm512_castsi512_ps(at % 2 ? _mm512_and_si512(u, _mm512_set1_epi32(-0x10000))
	                                  : _mm512_slli_epi32(u, 16));
}

WINO_INLINE vec gather_half(const struct gather *g, int64_t at)
{
	_Alignas(32) uint16_t v[WINO_LANES] = { 0 };
	for (int i = 0; i < WINO_LANES; i++)
		if (g->lanes >> i & 1)
			v[i] = ((const uint16_t *)g->from)[at + g->w->at_o[g->o + i]];
	return v_load(v, true, 0xFFFF);
}

WINO_INLINE vec gather(const struct gather *g, int64_t at)
{
	const int32_t *o = g->w->at_o + g->o;
	const bool half = g->w->half;
	if (g->dense)
		return v_load(wino_at(g->from, half, at + *o), half, g->lanes);
	if (g->pairs)
		return gather_pairs(g, at + *o);
	if (half)
		return gather_half(g, at);
	return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), g->lanes, _mm512_loadu_si512(o),
	                                (const float *)g->from + at, 4);
}

/* All taps of one plane from input channel i. */
WINO_TARGET static void gather_taps(const struct gather *g, int64_t i, int64_t deep, float *to)
{
	const int64_t taps = g->w->form->r * g->w->form->r;
	const int32_t *tap = g->w->tap + deep * taps;
	for (int64_t t = 0; t < taps; t++)
		_mm512_store_ps(to + t * WINO_LANES, gather(g, g->w->at_i[i] + tap[t]));
}

static void transform_weights(const struct wino *w, const void *from, float *u)
{
	const int64_t vecs = (w->co + WINO_LANES - 1) / WINO_LANES, n = vecs * w->deep_taps * w->ci;
#pragma omp parallel for schedule(static) num_threads(w->threads)
	for (int64_t j = 0; j < n; j++) {
		_Alignas(64) float taps[25 * WINO_LANES];
		const int64_t i = j % w->ci, deep = j / w->ci % w->deep_taps;
		const int64_t o = j / w->ci / w->deep_taps * WINO_LANES, panel = o / WINO_PANEL;
		const int64_t chunk = deep * w->npart + i / WINO_K;
		const int width = vectors(w, panel) * WINO_LANES;
		const struct gather g = gather_at(w, from, o);
		gather_taps(&g, i, deep, taps);
		w->form->weights(taps, u_at(w, u, panel, chunk) + i % WINO_K * width +
		                       o % WINO_PANEL, wino_pos(WINO_K, width));
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
			w->form->input[w->half](wino_at(x, w->half, s[t].at + shift + c),
			                        wino_at(x, w->half, next + shift + c), &p,
			                        v + t * WINO_K + c, pos);
		}
	}
}

static void multiply_block(const struct wino *w, int nv, int k, const float *u, int64_t count,
                           const float *v, float *m, bool add)
{
	const int width = nv * WINO_LANES;
	for (int64_t p = 0; p < positions(w); p++)
		wino_multiply((int)count, nv, k, v + p * wino_pos(w->block, WINO_K),
		              u + p * wino_pos(WINO_K, width), m + p * wino_pos(w->block, width),
		              add);
}

static void output_block(const struct wino *w, int64_t panel, const float *m, const float *bias,
                         const struct wino_spot *s, int64_t count, void *y)
{
	const int nv = vectors(w, panel);
	const int64_t pos = wino_pos(w->block, nv * WINO_LANES);
	for (int64_t t = 0; t < count; t++)
		for (int j = 0; j < nv; j++) {
			const int64_t o = panel * WINO_PANEL + j * WINO_LANES;
			struct wino_pixels p = wino_pixels_y(w, o);
			p.span = s[t].span;
			w->form->output[w->half_y](m + (t * nv + j) * WINO_LANES, pos,
			                           bias ? bias + o : NULL,
			                           (char *)y + (s[t].at + o) * (w->half_y ? 2 : 4),
			                           &p);
		}
}

struct job {
	const struct wino *w;
	const void *x;
	const float *bias;
	float *u;
	void *y;
	float *v, *m;             /* of this thread */
};

/* All panels one after another from inputs that are transformed once. */
static void one_chunk(const struct job *j, const struct wino_spot *sx, const struct wino_spot *sy,
                      int64_t count)
{
	const struct wino *w = j->w;
	wino_input_block(w, j->x, 0, sx, count, j->v);
	for (int64_t panel = 0; panel < w->npanel; panel++) {
		multiply_block(w, vectors(w, panel), (int)w->ci, u_at(w, j->u, panel, 0), count,
		               j->v, j->m, false);
		output_block(w, panel, j->m, j->bias, sy, count, j->y);
	}
}

static void many_chunks(const struct job *j, int64_t group, const struct wino_spot *sx,
                        const struct wino_spot *sy, int64_t count)
{
	const struct wino *w = j->w;
	const int64_t first = group * w->group, n = least(w->group, w->npanel - first);
	for (int64_t chunk = 0; chunk < w->nchunk; chunk++) {
		wino_input_block(w, j->x, chunk, sx, count, j->v);
		for (int64_t i = 0; i < n; i++)
			multiply_block(w, vectors(w, first + i), (int)wino_channels(w, chunk),
			               u_at(w, j->u, first + i, chunk), count, j->v,
			               j->m + i * m_elements(w), chunk > 0);
	}
	for (int64_t i = 0; i < n; i++)
		output_block(w, first + i, j->m + i * m_elements(w), j->bias, sy, count, j->y);
}

static void run_block(const struct job *j, int64_t block, int64_t group)
{
	const struct wino *w = j->w;
	struct wino_spot sx[WINO_BLOCK], sy[WINO_BLOCK];
	const int64_t first = block * w->block, count = least(w->block, w->ntile - first);
	wino_spots_x(w, first, count, sx);
	wino_spots_y(w, first, count, sy);
	if (w->nchunk == 1)
		one_chunk(j, sx, sy, count);
	else
		many_chunks(j, group, sx, sy, count);
}

void wino_run(const struct wino *w, const void *x, const void *weights, const float *bias, void *y,
              float *ws)
{
	float *u = ws, *own = u + u_elements(w);
	transform_weights(w, weights, u);
#pragma omp parallel for schedule(dynamic) num_threads(w->threads)
	for (int64_t i = 0; i < w->nblock * w->ngroup; i++) {
		float *v = own + wino_thread() * thread_elements(w);
		const struct job j = { w, x, bias, u, y, v, v + v_elements(w) };
		run_block(&j, i / w->ngroup, i % w->ngroup);
	}
}

#endif
