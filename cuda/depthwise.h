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
 * 2^31 pixels. matrices: whether the GPU multiplies matrices (compute capability 8.0). norm: where
 * gamma is not NULL, vectors of a norm over the channels, and the convolution is of f(norm(x)),
 * rounded as x is, of which x alone is in memory. f multiplies what is below zero by the slope.
 * Only tiles take that. */
struct k_depthwise_norm {
	const float *gamma, *beta, *mean, *rstd;
	float slope;
};
struct k_depthwise {
	int64_t n, c;
	int type, matrices;
	int in[2], out[2], s[2], d[2], lo[2];
	struct k_rows x, y;
	struct k_depthwise_norm norm;
};
int k_depthwise_forward(void *stream, const struct k_depthwise *g, const void *w);
/* x from y and w; the norm does not count. */
int k_depthwise_grad_input(void *stream, const struct k_depthwise *g, const void *w);
/* The same through f: x, made of y and w, is multiplied by the slope where norm(of) is not above
 * zero. dbeta: its sum, dgamma: that of x (of - mean) rstd, in a fixed order; each may be NULL.
 * Tiles alone take it. ws: k_depthwise_masked_workspace bytes. */
struct k_depthwise_masked {
	struct k_rows of;
	float *dgamma, *dbeta;
};
int k_depthwise_grad_input_masked(void *stream, const struct k_depthwise *g, const void *w,
                                  const struct k_depthwise_masked *m, void *ws);
int64_t k_depthwise_masked_workspace(const struct k_depthwise *g);
/* w, of type `to` but rounded to that of y, from x and y, in a fixed order. ws:
 * k_depthwise_workspace bytes. */
int k_depthwise_grad_weight(void *stream, const struct k_depthwise *g, int to, void *w, void *ws);
int64_t k_depthwise_workspace(const struct k_depthwise *g);

/* By tensor cores (cuda/k_depthwise_tile.cu), what k_depthwise_tiles says that they take. w: NULL
 * for the weights' gradient. Tensors that are NULL count as aligned. */
int k_depthwise_tiles(const struct k_depthwise *g, const void *w);
/* The convolution whose result is the gradient to the input of one with stride 1, turned around. */
struct k_depthwise k_depthwise_turned(const struct k_depthwise *g);
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
