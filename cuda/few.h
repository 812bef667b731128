/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers of cuda/k_few.cu, k_few_back.cu and k_few_weights.cu, as those of cuda/kernels.h. */
#ifndef DLX_CUDA_FEW_H
#define DLX_CUDA_FEW_H

#include "cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A convolution between x of at most K_FEW channels and y of many, channels-last: pixel p of y and
 * tap t of the window belong to pixel p * stride - lo + t of x. Axes are depth, height and width.
 * Less than 2^31 pixels on either side; rows of y and y.p are multiples of 16 bytes, many is one of
 * 8. The weight of channel m of y, tap t (in the order of rows) and channel c of x is at w_first +
 * m * w_many + t * w_tap + c * w_few. type: K_TYPE_F16 or K_TYPE_BF16, of y and of the weights that
 * are read; and of x where it is read. Compute capability 8.0 or later. */
enum { K_FEW = 4, K_FEW_KERNEL = 7 };
struct k_few {
	int type, few, many;
	int64_t n;
	int in[3], out[3], kernel[3], stride[3], lo[3];
	int64_t w_first, w_many, w_tap, w_few;
	struct k_rows x, y;
};
/* Whether the launchers below take that: 0 or 1. */
int k_few_takes(const struct k_few *g);
int k_few_back_takes(const struct k_few *g);
int k_few_weights_takes(const struct k_few *g);
/* y from x; bias: many, or NULL. */
int k_few_forward(void *stream, const struct k_few *g, const void *w, const float *bias);
/* x, of type `to` (that of y, or f32), from y; bias: few, or NULL. */
int k_few_back(void *stream, const struct k_few *g, int to, const void *w, const float *bias);
/* w, of type `to` but rounded to that of y, from x and y, in a fixed order; bias: the sum over y's
 * pixels, many, or NULL; not NULL only where k_few_sums. ws: k_few_workspace bytes. */
int k_few_weights(void *stream, const struct k_few *g, int to, void *w, float *bias, void *ws);
int k_few_sums(const struct k_few *g);
int64_t k_few_workspace(const struct k_few *g);

#ifdef __cplusplus
}
#endif
#endif
