/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transforms of tiles for every form: one-dimensional transforms of all columns, then of all
 * rows. */
#include "op/winograd/winograd_simd.h"

#if defined(__x86_64__)

WINO_INLINE bool whole(const struct wino_span *s, int size)
{
	return s->row0 == 0 && s->col0 == 0 && s->row1 == size && s->col1 == size;
}

/* The mask of the channels of pixel (i, j) to load or store. */
WINO_INLINE __mmask16 pixel_mask(const struct wino_pixels *p, bool all, int i, int j)
{
	const struct wino_span *s = &p->span;
	if (!all && (i < s->row0 || i >= s->row1 || j < s->col0 || j >= s->col1))
		return 0;
	return (__mmask16)p->lanes;
}

/* Pixels in memory. If this tile is partly outside the image, the next one may be, too; it is not
 * prefetched then, since a prefetch from an unmapped address is slow. */
struct source {
	const void *x, *next;
	bool bf16;
	const struct wino_pixels *p;
};

WINO_INLINE void load_column(int size, const struct source *s, bool all, int j, vec *d)
{
	WINO_UNROLL
	for (int i = 0; i < size; i++) {
		const int64_t at = i * s->p->row + j * s->p->col;
		const __mmask16 mask = pixel_mask(s->p, all, i, j);
		d[i] = v_load(row_at(s->x, s->bf16, at), s->bf16, mask);
		if (all || mask)
			_mm_prefetch((const char *)row_at(s->next, s->bf16, at), _MM_HINT_T0);
	}
}

WINO_INLINE void store_row(int n, const vec *t, float *v, int64_t pos)
{
	WINO_UNROLL
	for (int j = 0; j < n; j++)
		_mm512_store_ps(v + j * pos, t[j]);
}

WINO_INLINE void input_tile(int alpha, const struct source *s, bool all, float *v, int64_t pos)
{
	vec t[WINO_ALPHA][WINO_ALPHA], d[WINO_ALPHA], o[WINO_ALPHA];
	for (int j = 0; j < alpha; j++) {
		load_column(alpha, s, all, j, d);
		basis(alpha, d, o);
		WINO_UNROLL
		for (int i = 0; i < alpha; i++)
			t[i][j] = o[i];
	}
	for (int i = 0; i < alpha; i++) {
		basis(alpha, t[i], o);
		store_row(alpha, o, v + i * alpha * pos, pos);
	}
}

WINO_INLINE void input(int alpha, const struct source *s, float *v, int64_t pos)
{
	if (whole(&s->p->span, alpha))
		input_tile(alpha, s, true, v, pos);
	else
		input_tile(alpha, s, false, v, pos);
}

WINO_INLINE void gradient_tile(int alpha, int m, const struct source *s, bool all, float *v,
                               int64_t pos)
{
	vec t[WINO_ALPHA][WINO_ALPHA], d[WINO_ALPHA], o[WINO_ALPHA];
	for (int j = 0; j < m; j++) {
		load_column(m, s, all, j, d);
		evaluate(alpha, m, false, d, o);
		WINO_UNROLL
		for (int i = 0; i < alpha; i++)
			t[i][j] = o[i];
	}
	for (int i = 0; i < alpha; i++) {
		evaluate(alpha, m, false, t[i], o);
		store_row(alpha, o, v + i * alpha * pos, pos);
	}
}

WINO_INLINE void gradient(int alpha, int m, const struct source *s, float *v, int64_t pos)
{
	if (whole(&s->p->span, m))
		gradient_tile(alpha, m, s, true, v, pos);
	else
		gradient_tile(alpha, m, s, false, v, pos);
}

/* Transforms the columns of alpha x alpha values back to n x n. */
WINO_INLINE void back_columns(int alpha, int n, bool scaled, const float *v, int64_t pos,
                              vec t[][WINO_ALPHA])
{
	vec d[WINO_ALPHA], o[WINO_ALPHA];
	for (int j = 0; j < alpha; j++) {
		WINO_UNROLL
		for (int i = 0; i < alpha; i++)
			d[i] = _mm512_load_ps(v + (i * alpha + j) * pos);
		interpolate(alpha, n, scaled, d, o);
		WINO_UNROLL
		for (int i = 0; i < n; i++)
			t[i][j] = o[i];
	}
}

/* Prefetches the addend while the products are transformed. */
WINO_INLINE void fetch_sum(int m, const struct wino_sum *sum, bool all, const struct wino_pixels *p)
{
	for (int i = 0; i < m; i++)
		for (int j = 0; j < m; j++)
			if (all || pixel_mask(p, all, i, j))
				_mm_prefetch((const char *)row_at(sum->at, sum->bf16, i * sum->row + j * sum->col),
				             _MM_HINT_T0);
}

WINO_INLINE vec sum_pixel(const struct wino_sum *sum, __mmask16 mask, int i, int j)
{
	return v_load(row_at(sum->at, sum->bf16, i * sum->row + j * sum->col), sum->bf16, mask);
}

WINO_INLINE void output_tile(int alpha, int m, const float *v, int64_t pos, const float *bias,
                             const struct wino_sum *sum, void *y, bool bf16,
                             const struct wino_pixels *p)
{
	const bool all = whole(&p->span, m);
	const vec b = bias ? _mm512_maskz_loadu_ps((__mmask16)p->lanes, bias) : _mm512_setzero_ps();
	vec t[WINO_ALPHA][WINO_ALPHA], o[WINO_ALPHA];
	if (sum)
		fetch_sum(m, sum, all, p);
	back_columns(alpha, m, false, v, pos, t);
	for (int i = 0; i < m; i++) {
		interpolate(alpha, m, false, t[i], o);
		WINO_UNROLL
		for (int j = 0; j < m; j++) {
			const __mmask16 mask = pixel_mask(p, all, i, j);
			const vec to = sum ? v_add(b, sum_pixel(sum, mask, i, j)) : b;
			v_store((char *)y + (i * p->row + j * p->col) * (bf16 ? 2 : 4), bf16, mask,
			        v_add(o[j], to));
		}
	}
}

WINO_INLINE void output(int alpha, int m, const float *v, int64_t pos, const float *bias,
                        const struct wino_sum *sum, void *y, bool bf16, const struct wino_pixels *p)
{
	if (sum)
		output_tile(alpha, m, v, pos, bias, sum, y, bf16, p);
	else
		output_tile(alpha, m, v, pos, bias, NULL, y, bf16, p);
}

WINO_INLINE void weights(int alpha, int r, const float *w, float *v, int64_t pos)
{
	vec t[WINO_ALPHA][WINO_ALPHA], d[WINO_ALPHA], o[WINO_ALPHA];
	for (int j = 0; j < r; j++) {
		WINO_UNROLL
		for (int i = 0; i < r; i++)
			d[i] = _mm512_load_ps(w + (i * r + j) * WINO_LANES);
		evaluate(alpha, r, true, d, o);
		WINO_UNROLL
		for (int i = 0; i < alpha; i++)
			t[i][j] = o[i];
	}
	for (int i = 0; i < alpha; i++) {
		evaluate(alpha, r, true, t[i], o);
		store_row(alpha, o, v + i * alpha * pos, pos);
	}
}

WINO_INLINE void weight_gradient(int alpha, int r, const float *v, int64_t pos, float *dw)
{
	vec t[WINO_ALPHA][WINO_ALPHA], o[WINO_ALPHA];
	back_columns(alpha, r, true, v, pos, t);
	for (int i = 0; i < r; i++) {
		interpolate(alpha, r, true, t[i], o);
		store_row(r, o, dw + i * r * WINO_LANES, WINO_LANES);
	}
}

#define PIXELS(m_, r_, type, bf16)								\
	WINO_TARGET static void input_##m_##_##r_##type(const void *x, const void *next,	\
	                                                const struct wino_pixels *p, float *v,	\
	                                                int64_t pos)				\
	{											\
		const struct source s = { x, next, bf16, p };					\
		input(m_ + r_ - 1, &s, v, pos);							\
	}											\
	WINO_TARGET static void output_##m_##_##r_##type(const float *v, int64_t pos,		\
	                                                 const float *b,		\
	                                                 const struct wino_sum *sum, void *y,	\
	                                                 const struct wino_pixels *p)		\
	{											\
		output(m_ + r_ - 1, m_, v, pos, b, sum, y, bf16, p);					\
	}											\
	WINO_TARGET static void gradient_##m_##_##r_##type(const void *x, const void *next,	\
	                                                   const struct wino_pixels *p, float *v,\
	                                                   int64_t pos)				\
	{											\
		const struct source s = { x, next, bf16, p };					\
		gradient(m_ + r_ - 1, m_, &s, v, pos);						\
	}

#define FORM(m_, r_)										\
	PIXELS(m_, r_, _f32, false)								\
	PIXELS(m_, r_, _bf16, true)								\
	WINO_TARGET static void weights_##m_##_##r_(const float *w, float *v, int64_t pos)	\
	{											\
		weights(m_ + r_ - 1, r_, w, v, pos);						\
	}											\
	WINO_TARGET static void weight_gradient_##m_##_##r_(const float *v, int64_t pos,	\
	                                                    float *dw)				\
	{											\
		weight_gradient(m_ + r_ - 1, r_, v, pos, dw);					\
	}

FORM(4, 3)
FORM(4, 5)

#define BOTH(f, m, r) { f##_##m##_##r##_f32, f##_##m##_##r##_bf16 }
#define ROW(m, r)										\
	{ "winograd:f" #m "x" #m "_" #r "x" #r, m, r, m + r - 1, BOTH(input, m, r),		\
	  BOTH(output, m, r), BOTH(gradient, m, r), weights_##m##_##r, weight_gradient_##m##_##r }

const struct wino_form wino_forms[] = { ROW(4, 3), ROW(4, 5) };
const int wino_nform = sizeof wino_forms / sizeof *wino_forms;

#endif
