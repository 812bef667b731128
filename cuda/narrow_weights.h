/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers of cuda/k_narrow_weights.cu, as those of cuda/kernels.h. */
#ifndef DLX_CUDA_NARROW_WEIGHTS_H
#define DLX_CUDA_NARROW_WEIGHTS_H

#include "cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The gradient to the weights of a convolution with stride 1 and few channels: w (co, kernel, ci)
 * of x (n, in, ci) and of y's gradient, y (n, out, co), channels-last. Axes are depth, height and
 * width; kernel: any depth, 3 x 3 or 5 x 5; lo: padding before. type: K_TYPE_F16 or K_TYPE_BF16, of
 * x and y, whose rows are pixels, and may be windows of wider buffers: channels are multiples of 8,
 * rows aligned to 16 bytes. Less than 2^31 pixels. */
struct k_narrow_weights {
	int n, ci, co, type;
	int in[3], out[3], kernel[3], lo[3];
	int processors;              /* that the GPU has */
	struct k_rows x, y;
};
/* w, of type `to` but rounded to that of y, in an order that follows from the shape and
 * `processors`. bias: the sum over y's pixels, co, or NULL; not NULL only where
 * k_narrow_weights_sums. ws: k_narrow_weights_workspace bytes. */
int k_narrow_weights_run(void *stream, const struct k_narrow_weights *g, int to, void *w,
                         float *bias, void *ws);
int k_narrow_weights_sums(const struct k_narrow_weights *g);
int64_t k_narrow_weights_workspace(const struct k_narrow_weights *g);

#ifdef __cplusplus
}
#endif
#endif
