/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Winograd convolution of few tiles, forward and gradient to the input. In small images with many
 * channels weights dominate, and transformed weights (2.6 times as many for 5x5) would not fit in
 * the caches. So all inputs are transformed first. Then each thread transforms a chunk of a panel's
 * weights in its L2 cache, multiplies all tiles with it and discards it; the sums stay in the cache
 * from chunk to chunk. If panels are few, the chunks are split, by the shape alone, and the sums of
 * the splits are added in order at the end. */
#include "op/winograd/winograd_simd.h"

#if defined(__x86_64__)

size_t wino_few_workspace(const struct wino *w)
{
	return (size_t)(w->nchunk * wino_v_elements(w) + w->nsegment * w->npanel * wino_m_elements(w) +
	                w->threads * wino_u_elements(w, 2)) * sizeof(float);
}

static void transform_inputs(const struct wino *w, const void *x, float *v)
{
#pragma omp parallel for schedule(static) num_threads(w->threads)
	for (int64_t c = 0; c < w->nchunk; c++) {
		struct wino_spot s[WINO_BLOCK];
		wino_spots_x(w, 0, w->ntile, s);
		wino_input_block(w, x, c, s, w->ntile, v + c * wino_v_elements(w));
	}
}

/* Adds the chunks of one split for a panel's weights. */
static void sum_chunks(const struct wino *w, const void *weights, int64_t split, int64_t panel,
                       const float *v, float *u, float *m)
{
	const int64_t first = split * w->segment, end = wino_least(first + w->segment, w->nchunk);
	const int nv = wino_vectors(w, panel), width = nv * WINO_LANES;
	for (int64_t chunk = first; chunk < end; chunk++) {
		const int64_t channels = wino_channels(w, chunk);
		for (int64_t i = 0; i < channels; i += WINO_LANES)
			for (int j = 0; j < nv; j++)
				wino_weights_block(w, weights, chunk / w->npart,
				                   chunk % w->npart * WINO_K + i,
				                   panel * WINO_PANEL + j * WINO_LANES,
				                   u + i * width + j * WINO_LANES, width);
		wino_multiply_block(w, nv, (int)channels, u, w->ntile, v + chunk * wino_v_elements(w), m,
		                    chunk > first);
	}
}

static void finish_panel(const struct wino *w, int64_t panel, float *m, const struct wino_result *r)
{
	const int64_t step = w->npanel * wino_m_elements(w);
	const int64_t n = wino_positions(w) * wino_pos(w->block, wino_vectors(w, panel) * WINO_LANES);
	struct wino_spot s[WINO_BLOCK];
	for (int64_t split = 1; split < w->nsegment; split++)
		for (int64_t i = 0; i < n; i++)
			m[i] += m[split * step + i];
	wino_spots_y(w, 0, w->ntile, s);
	wino_output_block(w, panel, m, r, s, w->ntile);
}

void wino_run_few(const struct wino *w, const void *x, const void *weights,
                  const struct wino_result *r, float *ws)
{
	float *v = ws, *m = v + w->nchunk * wino_v_elements(w);
	float *own = m + w->nsegment * w->npanel * wino_m_elements(w);
	transform_inputs(w, x, v);
#pragma omp parallel for schedule(dynamic) num_threads(w->threads)
	for (int64_t i = 0; i < w->nsegment * w->npanel; i++)
		sum_chunks(w, weights, i / w->npanel, i % w->npanel, v,
		           own + wino_thread() * wino_u_elements(w, 2), m + i * wino_m_elements(w));
#pragma omp parallel for schedule(static) num_threads(w->threads)
	for (int64_t p = 0; p < w->npanel; p++)
		finish_panel(w, p, m + p * wino_m_elements(w), r);
}

#endif
