/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers of the kernels in cuda/k_depthwise.cu. The rules of cuda/kernels.h hold for them. */
#ifndef DLX_CUDA_DEPTHWISE_H
#define DLX_CUDA_DEPTHWISE_H

#include "cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A depthwise convolution (each channel by itself), channels-last, with a 3 x 3 window: y (n, out,
 * c) of x (n, in, c) and w (c, 3, 3). s: stride; d: dilation; lo: padding before the first pixel of
 * each axis. type: the element type of x, y and of weights that are an input. A row of x or y is a
 * pixel; x and y may be channel slices of wider buffers. Both have fewer than 2^31 pixels.
 * matrices: whether the GPU has matrix instructions for 16-bit types (compute capability 8.0 or
 * later). norm: if gamma is not NULL, the parameters of a norm over the channels; the convolution
 * then reads f(norm(x)), rounded to the type of x, and only x is in memory. f multiplies negative
 * values by `slope`. Only the kernels of k_depthwise_tile.cu accept a norm. */
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
/* The gradient to the input: computes x from y and w. It ignores `norm`. */
int k_depthwise_grad_input(void *stream, const struct k_depthwise *g, const void *w);
/* The gradient to the input through f: the x that is computed from y and w is multiplied by the
 * slope wherever norm(of) is not above zero. dbeta: the sum of that x over all pixels; dgamma: the
 * sum of x (of - mean) rstd; both are summed in a fixed order, and either may be NULL. Only the
 * kernels of k_depthwise_tile.cu compute it. ws: k_depthwise_masked_workspace bytes. */
struct k_depthwise_masked {
	struct k_rows of;
	float *dgamma, *dbeta;
};
int k_depthwise_grad_input_masked(void *stream, const struct k_depthwise *g, const void *w,
                                  const struct k_depthwise_masked *m, void *ws);
int64_t k_depthwise_masked_workspace(const struct k_depthwise *g);
/* The gradient to the weights: computes w from x and y, in a fixed order of summation. w is stored
 * as type `to` after rounding to the type of y. ws: k_depthwise_workspace bytes. */
int k_depthwise_grad_weight(void *stream, const struct k_depthwise *g, int to, void *w, void *ws);
int64_t k_depthwise_workspace(const struct k_depthwise *g);

/* The kernels for tensor cores (cuda/k_depthwise_tile.cu). k_depthwise_tiles returns whether they
 * accept g. w: NULL for the gradient to the weights. A tensor whose pointer is NULL counts as
 * aligned. */
int k_depthwise_tiles(const struct k_depthwise *g, const void *w);
/* For a g of stride 1: the convolution that computes g's gradient to the input. Its window is the
 * mirror image of g's (see `turned` below). */
struct k_depthwise k_depthwise_turned(const struct k_depthwise *g);
/* Computes y from x and w. turned: the window is mirrored. */
int k_depthwise_tile(void *stream, const struct k_depthwise *g, int turned, const void *w);
/* The gradient to the input at stride 2: computes x from y and w. */
int k_depthwise_spread(void *stream, const struct k_depthwise *g, const void *w);
/* Partial sums of the gradient to the weights: part[k_depthwise_tile_parts][tap][channel]. */
int k_depthwise_tile_gradient(void *stream, const struct k_depthwise *g, float *part);
int64_t k_depthwise_tile_parts(const struct k_depthwise *g);

#ifdef __cplusplus
}
#endif
#endif
