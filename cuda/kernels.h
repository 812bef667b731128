/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device code behind a C ABI. A launcher enqueues its kernel on the stream (a cudaStream_t) and returns the runtime's status, 0 for
 * success; it never waits and never allocates. Pointers are the device's. `type` is an enum dtype of base/types.h: kernels
 * compute in float32 whatever they load and store. */
#ifndef DLX_CUDA_KERNELS_H
#define DLX_CUDA_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* enum dtype without its header; backend/cuda.c checks that they agree. */
enum { K_TYPE_F32, K_TYPE_F64, K_TYPE_F16, K_TYPE_BF16, K_TYPE_I8, K_TYPE_U8, K_TYPE_I16, K_TYPE_U16, K_TYPE_I32, K_TYPE_I64 };

/* --- element by element (k_map.cu): n elements, padding included; y may be x --- */

enum k_unary { K_RELU, K_LEAKY_RELU, K_TANH, K_SIGMOID, K_SOFTPLUS, K_SQUARE, K_SQRT, K_EXP, K_LOG, K_SCALE };
/* a, b: parameters: the slope of leaky_relu; factor and shift of scale. */
int k_unary(void *stream, enum k_unary op, int type, int64_t n, float a, float b, const void *x, void *y);

enum k_binary { K_ADD, K_SUBTRACT, K_MULTIPLY, K_DIVIDE, K_RELU_GRAD, K_LEAKY_RELU_GRAD };
/* Gradients: x is the output y of the function, y is dy. */
int k_binary(void *stream, enum k_binary op, int type, int64_t n, float a, const void *x, const void *y, void *z);

/* y = x * *factor, a float32 scalar on the device. */
int k_scale_by(void *stream, int type, int64_t n, const void *x, const float *factor, void *y);
int k_fill(void *stream, int type, int64_t n, double value, void *y);
/* Any two of f32, f16, bf16, i32, i64, u8, f64. */
int k_cast(void *stream, int from, int to, int64_t n, const void *x, void *y);

/* --- strided copies (k_copy.cu) --- */

#define K_AXES 6
struct k_copy {
	int nd;
	int64_t d[K_AXES], in[K_AXES], out[K_AXES];      /* extents; distances in units */
};
/* unit: bytes that move as one: 1, 2, 4, 8 or 16; x and y are aligned to it. */
int k_copy(void *stream, int unit, const struct k_copy *c, const void *x, void *y);

/* --- channels of channels-last tensors (k_channels.cu) --- */

/* y[row][channel] += bias[channel], in place; stride: elements from row to row. */
int k_add_bias(void *stream, int type, int64_t rows, int64_t c, int64_t stride, const float *bias, void *y);
/* sum[channel] over the rows, float32, in a fixed order. ws: k_channels_workspace bytes. */
int k_channel_sum(void *stream, int type, int64_t rows, int64_t c, int64_t stride, const void *x, float *sum, void *ws);
int64_t k_channels_workspace(int64_t rows, int64_t c);

/* --- batch normalisation (k_norm.cu) --- */

/* Rows of c channels, `stride` elements apart; p is NULL where a tensor is absent. */
struct k_rows {
	void *p;
	int64_t stride;
};

/* y = f((x - mean) * rstd * gamma + beta [+ residual]); f: slope * z below zero if act, which for a slope of 0 is 0. */
struct k_norm {
	int64_t rows, c;
	int type, act;
	float slope;
	double eps;
	struct k_rows x, residual, y;
	const float *gamma, *beta;
	float *mean, *rstd, *variance;
};
/* Takes the batch's statistics; mean, rstd and variance are outputs, each may be NULL. */
int k_norm_forward(void *stream, const struct k_norm *n, void *ws);
/* mean and variance are inputs. */
int k_norm_inference(void *stream, const struct k_norm *n, void *ws);

/* Where the sign of z comes from: it has none that counts, from x again, from y. */
enum k_norm_mask { K_NORM_ALL, K_NORM_FROM_X, K_NORM_FROM_Y };
struct k_norm_grad {
	int64_t rows, c;
	int type;
	enum k_norm_mask mask;
	float slope;
	struct k_rows x, dy, second, y, addend;
	struct k_rows dx, masked;                /* masked: the gradient of z, if somebody wants it */
	const float *gamma, *beta, *mean, *rstd;
	const float *variance;                   /* of inference: rstd is made of it and eps, dx of dy alone; else NULL */
	double eps;
	float *dgamma, *dbeta;
};
int k_norm_backward(void *stream, const struct k_norm_grad *g, void *ws);
int64_t k_norm_workspace(int64_t rows, int64_t c);

/* --- pooling and resizing, channels-last and dense (k_window.cu) --- */

/* One to three spatial axes, absent ones 1; windows of k, s apart, the first lo before the input. Less than 2^31 pixels. */
struct k_window {
	int64_t n, c;
	int in[3], out[3], k[3], s[3], lo[3];
	int count_padding;
};
/* index: the place of each maximum in its window, int32 if wide, else uint8; forward it may be NULL. */
int k_max_pool(void *stream, int type, const struct k_window *w, const void *x, void *y, int wide, void *index);
int k_max_pool_grad(void *stream, int type, const struct k_window *w, const void *dy, int wide, const void *index, void *dx);
int k_max_pool_gather(void *stream, int type, const struct k_window *w, const void *x, int wide, const void *index, void *y);
int k_average_pool(void *stream, int type, const struct k_window *w, const void *x, void *y);
int k_average_pool_grad(void *stream, int type, const struct k_window *w, const void *dy, void *dx);

/* Entries first[a][i] .. first[a][i + 1] - 1 of axis a belong to index i of the result: where from, how much. On the device. */
struct k_resize {
	const int32_t *first[3], *from[3];
	const float *weight[3];
};
/* Of w: n, c, in and out. */
int k_resample(void *stream, int type, const struct k_window *w, const struct k_resize *m, const void *x, void *y);

/* --- reductions (k_reduce.cu) --- */

#define K_LEVELS 6
/* A loop nest: levels, outermost first; strides of its elements in x and y. */
struct k_nest {
	int n;
	int64_t count, size[K_LEVELS], x[K_LEVELS], y[K_LEVELS];
};
/* y = factor * the sum (max: the maximum) over `summed` for each of `kept` and of `columns` neighbours in x, which stand column_y
 * apart in y. */
struct k_reduce {
	struct k_nest kept, summed;
	int64_t columns, column_y;
	double factor;
	int max;
};
int k_reduce_run(void *stream, int type, const struct k_reduce *r, const void *x, void *y, void *ws);
int64_t k_reduce_workspace(const struct k_reduce *r);
/* dx = dy at the first maximum of each result, 0 elsewhere. columns is 1; the y of `kept` is that of dy, summed is in order. */
int k_max_grad(void *stream, int type, const struct k_reduce *r, const void *x, const void *dy, void *dx);

#ifdef __cplusplus
}
#endif
#endif
