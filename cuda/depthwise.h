/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers of cuda/k_depthwise.cu, as those of cuda/kernels.h. */
#ifndef DLX_CUDA_DEPTHWISE_H
#define DLX_CUDA_DEPTHWISE_H

#include "cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A convolution of each channel by itself, channels-last, with windows of 3 x 3: y (n, out, c) of x
 * (n, in, c) and w (c, 3, 3). s: stride, d: dilation, lo: padding before. type: of x, y and the
 * weights that are read. Rows of x and y are pixels, and may be windows of wider buffers. Less than
 * 2^31 pixels. matrices: whether the GPU multiplies matrices (compute capability 8.0). */
struct k_depthwise {
	int64_t n, c;
	int type, matrices;
	int in[2], out[2], s[2], d[2], lo[2];
	struct k_rows x, y;
};
int k_depthwise_forward(void *stream, const struct k_depthwise *g, const void *w);
/* x from y and w. */
int k_depthwise_grad_input(void *stream, const struct k_depthwise *g, const void *w);
/* w, of type `to` but rounded to that of y, from x and y, in a fixed order. ws:
 * k_depthwise_workspace bytes. */
int k_depthwise_grad_weight(void *stream, const struct k_depthwise *g, int to, void *w, void *ws);
int64_t k_depthwise_workspace(const struct k_depthwise *g);

/* By tensor cores (cuda/k_depthwise_tile.cu), what k_depthwise_tiles says that they take. w: NULL
 * for the weights' gradient. */
int k_depthwise_tiles(const struct k_depthwise *g, const void *w);
/* y; turned: with the window turned around. */
int k_depthwise_tile(void *stream, const struct k_depthwise *g, int turned, const void *w);
/* x from y and w, with stride 2. */
int k_depthwise_spread(void *stream, const struct k_depthwise *g, const void *w);
/* Sums of the weights' gradient: part[k_depthwise_tile_parts][tap][channel]. */
int k_depthwise_tile_gradient(void *stream, const struct k_depthwise *g, float *part);
int64_t k_depthwise_tile_parts(const struct k_depthwise *g);

#ifdef __cplusplus
}
#endif
#endif
