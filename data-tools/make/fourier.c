/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Along the last axis KissFFT transforms real rows; along the others complex columns, which are
 * copied together a few at a time so that memory is read by lines. (Its own function for several
 * axes fails for 32 points and more in Debian 12.) */
#include "data-tools/make/fourier.h"

#include "base/err.h"
#include "base/mem.h"

#define ABREAST 8          /* columns that are gathered at a time */

struct axis_plan {
	int n;
	kiss_fft_cfg forward, inverse;
};

struct fourier {
	int width, half;               /* half: width / 2 + 1 */
	struct axis_plan axis[2];      /* depth, height */
	kiss_fftr_cfg forward, inverse;
	kiss_fft_cpx *column, *made;   /* ABREAST columns of the longer axis */
};

static bool plan_axis(struct axis_plan *a, int n)
{
	a->n = n;
	a->forward = kiss_fft_alloc(n, 0, NULL, NULL);
	a->inverse = kiss_fft_alloc(n, 1, NULL, NULL);
	return a->forward && a->inverse;
}

int fourier_new(struct fourier **out, int depth, int height, int width)
{
	struct fourier *f = mem_calloc(1, sizeof *f);
	const size_t longest = (size_t)(depth > height ? depth : height);
	*out = f;
	f->width = width;
	f->half = width / 2 + 1;
	f->forward = kiss_fftr_alloc(width, 0, NULL, NULL);
	f->inverse = kiss_fftr_alloc(width, 1, NULL, NULL);
	f->column = mem_calloc(ABREAST * longest, sizeof *f->column);
	f->made = mem_calloc(longest, sizeof *f->made);
	if (f->forward && f->inverse && plan_axis(&f->axis[0], depth) && plan_axis(&f->axis[1], height))
		return 0;
	fourier_free(f);
	*out = NULL;
	return ERR(E_NOMEM, NULL, "no memory for transforms of %d x %d x %d points", depth, height,
	           width);
}

void fourier_free(struct fourier *f)
{
	if (!f)
		return;
	for (int i = 0; i < 2; i++) {
		kiss_fft_free(f->axis[i].forward);
		kiss_fft_free(f->axis[i].inverse);
	}
	kiss_fftr_free(f->forward);
	kiss_fftr_free(f->inverse);
	mem_free(f->column);
	mem_free(f->made);
	mem_free(f);
}

int64_t fourier_modes(const struct fourier *f)
{
	return (int64_t)f->axis[0].n * f->axis[1].n * f->half;
}

/* Columns first .. first + n - 1 of an array (axis, stride), in place. */
static void columns(struct fourier *f, kiss_fft_cfg plan, int extent, int64_t stride,
                    kiss_fft_cpx *at, int n)
{
	for (int64_t i = 0; i < extent; i++)
		for (int c = 0; c < n; c++)
			f->column[c * extent + i] = at[i * stride + c];
	for (int c = 0; c < n; c++) {
		kiss_fft(plan, f->column + (int64_t)c * extent, f->made);
		for (int64_t i = 0; i < extent; i++)
			at[i * stride + c] = f->made[i];
	}
}

/* Along axis 0 or 1 of (depth, height, half). */
static void along(struct fourier *f, int axis, bool inverse, kiss_fft_cpx *v)
{
	const struct axis_plan *a = &f->axis[axis];
	const kiss_fft_cfg plan = inverse ? a->inverse : a->forward;
	const int64_t stride = axis ? f->half : (int64_t)f->axis[1].n * f->half;
	const int64_t blocks = axis ? f->axis[0].n : 1;

	if (a->n == 1)
		return;
	for (int64_t b = 0; b < blocks; b++)
		for (int64_t c = 0; c < stride; c += ABREAST)
			columns(f, plan, a->n, stride, v + b * a->n * stride + c,
			        (int)(stride - c < ABREAST ? stride - c : ABREAST));
}

void fourier_forward(struct fourier *f, const float *field, kiss_fft_cpx *to)
{
	const int64_t rows = (int64_t)f->axis[0].n * f->axis[1].n;
	for (int64_t r = 0; r < rows; r++)
		kiss_fftr(f->forward, field + r * f->width, to + r * f->half);
	along(f, 1, false, to);
	along(f, 0, false, to);
}

void fourier_inverse(struct fourier *f, kiss_fft_cpx *modes, float *field)
{
	const int64_t rows = (int64_t)f->axis[0].n * f->axis[1].n;
	along(f, 0, true, modes);
	along(f, 1, true, modes);
	for (int64_t r = 0; r < rows; r++)
		kiss_fftri(f->inverse, modes + r * f->half, field + r * f->width);
}
