/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers of the kernels in cuda/k_few.cu, k_few_back.cu and k_few_weights.cu. The rules of
 * cuda/kernels.h hold for them. */
#ifndef DLX_CUDA_FEW_H
#define DLX_CUDA_FEW_H

#include "cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A convolution between x, which has at most K_FEW channels, and y, which has many; both are
 * channels-last. Pixel p of y reads pixel p * stride - lo + t of x with tap t of the window. The
 * axes are depth, height and width. Either side has fewer than 2^31 pixels; rows of y and y.p are
 * multiples of 16 bytes, and `many` is a multiple of 8. The weight of channel m of y, tap t
 * (row-major) and channel c of x is at w_first + m * w_many + t * w_tap + c * w_few. type:
 * K_TYPE_F16 or K_TYPE_BF16, the type of y, of weights that are an input, and of x if it is an
 * input. The kernels need compute capability 8.0 or later. */
enum { K_FEW = 4, K_FEW_KERNEL = 7 };
struct k_few {
	int type, few, many;
	int64_t n;
	int in[3], out[3], kernel[3], stride[3], lo[3];
	int64_t w_first, w_many, w_tap, w_few;
	struct k_rows x, y;
};
/* Whether the launchers below accept g: 0 or 1. */
int k_few_takes(const struct k_few *g);
int k_few_back_takes(const struct k_few *g);
int k_few_weights_takes(const struct k_few *g);
/* Computes y from x. bias: `many` values, or NULL. */
int k_few_forward(void *stream, const struct k_few *g, const void *w, const float *bias);
/* Computes x, of type `to` (the type of y, or f32), from y. bias: `few` values, or NULL. */
int k_few_back(void *stream, const struct k_few *g, int to, const void *w, const float *bias);
/* The gradient to the weights: computes w from x and y, in a fixed order of summation. w is stored
 * as type `to` after rounding to the type of y. bias: output, the sum over y's pixels, `many`
 * values; it must be NULL unless k_few_sums returns 1. ws: k_few_workspace bytes. */
int k_few_weights(void *stream, const struct k_few *g, int to, void *w, float *bias, void *ws);
int k_few_sums(const struct k_few *g);
int64_t k_few_workspace(const struct k_few *g);

#ifdef __cplusplus
}
#endif
#endif
