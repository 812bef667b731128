/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Winograd convolution: weights are loaded as 16 x 16 channels of each tap, from any layout, and
 * transformed. A vector holds output channels. If these are adjacent, the vector is loaded
 * directly; if the input channels are adjacent (the same weights, for the gradient to the input),
 * rows of those are loaded and transposed; otherwise the elements are gathered. */
#include "op/winograd/winograd_simd.h"

#if defined(__x86_64__)

WINO_TARGET bool wino_steps(const int32_t *at, unsigned lanes, int step)
{
	const __m512i v = _mm512_sub_epi32(_mm512_loadu_si512(at), _mm512_set1_epi32(at[0]));
	const __m512i n = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	const __m512i want = _mm512_mullo_epi32(n, _mm512_set1_epi32(step));
	return (_mm512_cmpneq_epi32_mask(v, want) & lanes) == 0;
}

/* The source of 16 weights, for output channels from o on; `at` gives the offset of an input
 * channel and a tap. */
struct gather {
	const struct wino *w;
	const void *from;
	int64_t o;
	__mmask16 lanes;
	bool dense;               /* the 16 weights are adjacent */
	bool pairs;               /* bf16, every second element: those in between belong to the adjacent
	                           * channel */
};

static struct gather gather_at(const struct wino *w, const void *from, int64_t o)
{
	struct gather g = { w, from, o, (__mmask16)wino_pixels_y(w, o).lanes, false, false };
	g.dense = wino_steps(w->at_o + o, g.lanes, 1);
	g.pairs = w->bf16 && w->w_elements % 2 == 0 && wino_steps(w->at_o + o, g.lanes, 2);
	return g;
}

WINO_INLINE vec gather_pairs(const struct gather *g, int64_t at)
{
	const void *p = row_at(g->from, true, at - at % 2);
	const __m512i u = _mm512_maskz_loadu_epi32(g->lanes, p);
	return _mm512_castsi512_ps(at % 2 ? _mm512_and_si512(u, _mm512_set1_epi32(-0x10000))
	                                  : _mm512_slli_epi32(u, 16));
}

WINO_INLINE vec gather_bf16(const struct gather *g, int64_t at)
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
	const bool bf16 = g->w->bf16;
	if (g->dense)
		return v_load(row_at(g->from, bf16, at + *o), bf16, g->lanes);
	if (g->pairs)
		return gather_pairs(g, at + *o);
	if (bf16)
		return gather_bf16(g, at);
	return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), g->lanes, _mm512_loadu_si512(o),
	                                (const float *)g->from + at, 4);
}

/* Transposes 16 vectors of 16 elements. */
WINO_INLINE void transpose(vec *r)
{
	vec t[16];
	WINO_UNROLL
	for (int i = 0; i < 16; i += 2) {
		t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
	}
	WINO_UNROLL
	for (int i = 0; i < 16;
	     i += 4)      /* r[i + k]: columns k, 4 + k, 8 + k, 12 + k of four rows */
		for (int k = 0; k < 2; k++) {
			const __m512d a = _mm512_castps_pd(t[i + k]), b = _mm512_castps_pd(t[i + 2 + k]);
			r[i + 2 * k] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
			r[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
		}
	WINO_UNROLL
	for (int k = 0; k < 4; k++) {
		t[4 * k] = _mm512_shuffle_f32x4(r[k], r[4 + k], 0x88);
		t[4 * k + 1] = _mm512_shuffle_f32x4(r[k], r[4 + k], 0xDD);
		t[4 * k + 2] = _mm512_shuffle_f32x4(r[8 + k], r[12 + k], 0x88);
		t[4 * k + 3] = _mm512_shuffle_f32x4(r[8 + k], r[12 + k], 0xDD);
	}
	WINO_UNROLL
	for (int k = 0; k < 4; k++) {
		r[k] = _mm512_shuffle_f32x4(t[4 * k], t[4 * k + 2], 0x88);
		r[4 + k] = _mm512_shuffle_f32x4(t[4 * k + 1], t[4 * k + 3], 0x88);
		r[8 + k] = _mm512_shuffle_f32x4(t[4 * k], t[4 * k + 2], 0xDD);
		r[12 + k] = _mm512_shuffle_f32x4(t[4 * k + 1], t[4 * k + 3], 0xDD);
	}
}

/* The distance from an input channel's weights to those of the next chunk, for prefetches; 0 at the
 * last chunk. */
static int64_t ahead(const struct wino *w, int64_t i)
{
	return i + WINO_K < w->ci ? w->at_i[i + WINO_K] - w->at_i[i] : 0;
}

/* Loads the taps of one plane for n input channels from i on: to[channel][tap][16]. The loop is tap
 * by tap, since in most layouts that reads long runs. */
WINO_TARGET static void gather_taps(const struct gather *g, int64_t i, int n, int64_t deep,
                                    float *to)
{
	const int taps = g->w->form->r * g->w->form->r;
	const int32_t *tap = g->w->tap + deep * taps, *at = g->w->at_i + i;
	const int64_t next = ahead(g->w, i);
	for (int t = 0; t < taps; t++)
		for (int c = 0; c < n; c++) {
			_mm512_store_ps(to + (c * taps + t) * WINO_LANES, gather(g, at[c] + tap[t]));
			if (g->dense)
				_mm_prefetch((const char *)row_at(g->from, g->w->bf16,
				                                   at[c] + tap[t] + g->w->at_o[g->o] + next),
				             _MM_HINT_T1);
		}
}

/* The same if input channels are contiguous. */
WINO_TARGET static void transpose_taps(const struct gather *g, int64_t i, int n, int64_t deep,
                                       float *to)
{
	const struct wino *w = g->w;
	const int taps = w->form->r * w->form->r;
	const __mmask16 lanes = (__mmask16)((1u << n) - 1);
	const int64_t next = ahead(w, i);
	for (int t = 0; t < taps; t++) {
		const int64_t at = w->at_i[i] + w->tap[deep * taps + t];
		vec r[WINO_LANES];
		WINO_UNROLL
		for (int o = 0; o < WINO_LANES; o++) {
			const int64_t row = at + w->at_o[g->o + o];
			r[o] = v_load(row_at(g->from, w->bf16, row), w->bf16, g->lanes >> o & 1 ? lanes : 0);
			_mm_prefetch((const char *)row_at(g->from, w->bf16, row + next), _MM_HINT_T1);
		}
		transpose(r);
		for (int c = 0; c < n; c++)
			_mm512_store_ps(to + (c * taps + t) * WINO_LANES, r[c]);
	}
}

void wino_weights_block(const struct wino *w, const void *from, int64_t deep, int64_t i, int64_t o,
                        float *u, int width)
{
	_Alignas(64) float taps[WINO_LANES * 25 * WINO_LANES];
	const int n = (int)(w->ci - i < WINO_LANES ? w->ci - i : WINO_LANES), r = w->form->r;
	const struct gather g = gather_at(w, from, o);
	if (!g.dense && n > 1 && wino_steps(w->at_i + i, (1u << n) - 1, 1))
		transpose_taps(&g, i, n, deep, taps);
	else
		gather_taps(&g, i, n, deep, taps);
	for (int c = 0; c < n; c++)
		w->form->weights(taps + c * r * r * WINO_LANES, u + c * width, wino_pos(WINO_K, width));
}

#endif
