/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fourier transforms of n complex float64 values, n a power of two. (KissFFT, used by fourier.h,
 * computes in float32 in Debian's build.) */
#ifndef DLX_DATA_TOOLS_FIELD_FFT_H
#define DLX_DATA_TOOLS_FIELD_FFT_H

#include <complex.h>
#include <stdint.h>

struct field_fft {
	int64_t n;
	double complex *root;
};

void field_fft_init(struct field_fft *f, int64_t n);
void field_fft_release(struct field_fft *f);
/* v[k] = sum over j of v[j] exp(-2 pi i j k / n) */
void field_fft_run(const struct field_fft *f, double complex *v);

#endif
