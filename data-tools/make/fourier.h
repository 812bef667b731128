/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fourier transforms of real fields of two and three axes, for the generators of data. KissFFT
 * makes those along an axis: its licence (BSD, as dlx's) fits, which that of FFTW does not, and
 * Debian has it. It computes in float32. */
#ifndef DLX_DATA_TOOLS_FOURIER_H
#define DLX_DATA_TOOLS_FOURIER_H

#include <kiss_fftr.h>
#include <stdbool.h>
#include <stdint.h>

/* Transforms of fields (depth, height, width), width even; depth 1: of two axes. Used by one
 * thread at a time. */
struct fourier;
/* E_NOMEM. */
int fourier_new(struct fourier **out, int depth, int height, int width);
void fourier_free(struct fourier *f);           /* NULL is fine */
/* Elements of a transform: depth * height * (width / 2 + 1). Element (i, j, k) has the wave numbers
 * i, j (from half the extent on: minus the extent) and k along the axes. */
int64_t fourier_modes(const struct fourier *f);
/* sum over x of field(x) exp(-i k x), not scaled. */
void fourier_forward(struct fourier *f, const float *field, kiss_fft_cpx *to);
/* sum over k of modes(k) exp(i k x): depth * height * width times what fourier_forward was given.
 * modes is overwritten. */
void fourier_inverse(struct fourier *f, kiss_fft_cpx *modes, float *field);
/* Index i of n as a wave number with its sign. */
static inline int fourier_wave(int i, int n)
{
	return i <= n / 2 ? i : i - n;
}

#endif
