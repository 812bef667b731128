/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fourier transforms of complex float64 values, whose numbers are powers of two. (KissFFT, which
 * fourier.h has, computes in float32 where Debian compiles it.) */
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
