/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fourier transforms of real fields of two and three axes, for the generators of data. KissFFT
 * computes those along one axis, in float32. Unlike FFTW it has the licence of dlx (BSD), and
 * Debian packages it. */
#ifndef DLX_DATA_TOOLS_FOURIER_H
#define DLX_DATA_TOOLS_FOURIER_H

#include <kiss_fftr.h>
#include <stdbool.h>
#include <stdint.h>

/* Transforms fields (depth, height, width), with even width; depth 1: fields of two axes. Only one
 * thread at a time may use it. */
struct fourier;
/* E_NOMEM. */
int fourier_new(struct fourier **out, int depth, int height, int width);
void fourier_free(struct fourier *f);           /* NULL is fine */
/* Elements of a transform: depth * height * (width / 2 + 1). Element (i, j, k) has the wave numbers
 * i, j (from half the extent on: minus the extent) and k along the axes. */
int64_t fourier_modes(const struct fourier *f);
/* sum over x of field(x) exp(-i k x), not scaled. */
void fourier_forward(struct fourier *f, const float *field, kiss_fft_cpx *to);
/* The sum over k of modes(k) exp(i k x), which is depth * height * width times the input of
 * fourier_forward. modes is overwritten. */
void fourier_inverse(struct fourier *f, kiss_fft_cpx *modes, float *field);
/* The signed wave number of index i in a transform of n points. */
static inline int fourier_wave(int i, int n)
{
	return i <= n / 2 ? i : i - n;
}

#endif
