/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers of the kernels in cuda/k_narrow_weights.cu. The rules of cuda/kernels.h hold for
 * them. */
#ifndef DLX_CUDA_NARROW_WEIGHTS_H
#define DLX_CUDA_NARROW_WEIGHTS_H

#include "cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The gradient to the weights of a convolution with stride 1 and few channels: w (co, kernel, ci)
 * from x (n, in, ci) and from y's gradient, here y (n, out, co); all are channels-last. The axes
 * are depth, height and width; the window has any depth and is 3 x 3 or 5 x 5. lo: padding before
 * x. type: K_TYPE_F16 or K_TYPE_BF16, the type of x and y, whose rows are pixels and which may be
 * channel slices of wider buffers: channels are multiples of 8, rows are aligned to 16 bytes. Both
 * have fewer than 2^31 pixels. */
struct k_narrow_weights {
	int n, ci, co, type;
	int in[3], out[3], kernel[3], lo[3];
	int processors;              /* multiprocessors of the GPU */
	struct k_rows x, y;
};
/* Computes w, stored as type `to` after rounding to the type of y. The order of summation depends
 * only on the shape and on `processors`. bias: output, the sum over y's pixels, co values; it must
 * be NULL unless k_narrow_weights_sums returns 1. ws: k_narrow_weights_workspace bytes. */
int k_narrow_weights_run(void *stream, const struct k_narrow_weights *g, int to, void *w,
                         float *bias, void *ws);
int k_narrow_weights_sums(const struct k_narrow_weights *g);
int64_t k_narrow_weights_workspace(const struct k_narrow_weights *g);

#ifdef __cplusplus
}
#endif
#endif
