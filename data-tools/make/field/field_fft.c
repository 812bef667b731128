/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/make/field/field_fft.h"

#include <math.h>

#include "base/mem.h"

#define PI 3.14159265358979323846

void field_fft_init(struct field_fft *f, int64_t n)
{
	f->n = n;
	f->root = mem_calloc((size_t)n / 2 + 1, sizeof *f->root);
	for (int64_t k = 0; k < n / 2; k++)
		f->root[k] = cexp(-I * 2 * PI * (double)k / (double)n);
}

void field_fft_release(struct field_fft *f)
{
	mem_free(f->root);
}

/* Value j goes where the bits of j are read from the other end. */
static void reverse(int64_t n, double complex *v)
{
	for (int64_t i = 1, j = 0; i < n; i++) {
		int64_t bit = n >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j |= bit;
		if (i < j) {
			const double complex t = v[i];

			v[i] = v[j];
			v[j] = t;
		}
	}
}

void field_fft_run(const struct field_fft *f, double complex *v)
{
	reverse(f->n, v);
	for (int64_t size = 2; size <= f->n; size *= 2)
		for (int64_t at = 0; at < f->n; at += size)
			for (int64_t k = 0; k < size / 2; k++) {
				double complex *low = v + at + k, *high = low + size / 2;
				const double complex root = f->root[k * (f->n / size)];
				const double re = creal(*high) * creal(root) - cimag(*high) * cimag(root);
				const double im = creal(*high) * cimag(root) + cimag(*high) * creal(root);

				*high = *low - (re + I * im);
				*low += re + I * im;
			}
}
