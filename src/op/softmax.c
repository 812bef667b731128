/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Softmax over the channels, at each point of (N, C, ...):
 *   y = e^(x - max) / sum e^(x - max),   dx = y (dy - sum (y dy))
 * Losses that need logits (softmax_cross_entropy) read the input of this op: they stay exact where
 * softmax rounds to 0. */
#include <math.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/lib/fork.h"
#include "op/lib/grid.h"
#include "op/lib/reads.h"
#include "op/lib/simd.h"

/* Clang cannot vectorise the loop for the maximum, and warns if a pragma demands it. */
#if defined(__clang__)
#define MAX_LOOP
#else
#define MAX_LOOP _Pragma("omp simd reduction(max : most)")
#endif

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	for (int i = 0; i < n->nin; i++) {
		TRY(check_float(g, n, i));
		TRY(check_rank(g, n, i, 2, 5));
		TRY(check_equal(g, n, 0, i));
	}
	struct shape s = *node_in_shape(g, n, 0);
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &s);
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return graph_emit1(g, "softmax_grad", NULL, 2, (tid[]){ n->out[0], dy[0] }, &dx[0]);
}

/* --- cost --- */

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = 5.0 * (double)shape_count(node_in_shape(g, n, 0));
}

/* --- reference kernels: channels are `points` apart --- */

static int reference(const struct kplan *k, const struct kargs *a)
{
	const struct grid g = grid_of(node_in_shape(k->g, k->n, 0));
	const int64_t points = grid_points(&g);
	for (int64_t i = 0; i < g.n * points; i++) {
		int64_t first = i / points * g.c * points + i % points;
		const double *x = (const double *)a->in[0] + first;
		double *y = (double *)a->out[0] + first, most = x[0], sum = 0;
		for (int64_t c = 0; c < g.c; c++)
			most = x[c * points] > most ? x[c * points] : most;
		for (int64_t c = 0; c < g.c; c++)
			sum += exp(x[c * points] - most);
		for (int64_t c = 0; c < g.c; c++)
			y[c * points] = exp(x[c * points] - most) / sum;
	}
	return 0;
}

static int grad_reference(const struct kplan *k, const struct kargs *a)
{
	const struct grid g = grid_of(node_in_shape(k->g, k->n, 0));
	const int64_t points = grid_points(&g);
	for (int64_t i = 0; i < g.n * points; i++) {
		int64_t first = i / points * g.c * points + i % points;
		const double *y = (const double *)a->in[0] + first, *dy = (const double *)a->in[1] + first;
		double *dx = (double *)a->out[0] + first, sum = 0;
		for (int64_t c = 0; c < g.c; c++)
			sum += y[c * points] * dy[c * points];
		for (int64_t c = 0; c < g.c; c++)
			dx[c * points] = y[c * points] * (dy[c * points] - sum);
	}
	return 0;
}

/* --- cpu kernels: rows of channels --- */

/* The comparison may lose a NaN in the maximum, but the sum is then NaN in any case. */
SIMD_CLONES(void, softmax_row, (const float *x, int64_t c, float *y), (x, c, y))
{
	float most = x[0], sum = 0;
	MAX_LOOP
	for (int64_t j = 0; j < c; j++)
		most = x[j] > most ? x[j] : most;
#pragma omp simd reduction(+ : sum)
	for (int64_t j = 0; j < c; j++) {
		float e = simd_exp(x[j] - most);
		y[j] = e;
		sum += e;
	}
	const float share = 1 / sum;
	SIMD_LOOP
	for (int64_t j = 0; j < c; j++)
		y[j] *= share;
}

SIMD_CLONES(void, grad_row, (const float *y, const float *dy, int64_t c, float *dx),
            (y, dy, c, dx))
{
	float sum = 0;
#pragma omp simd reduction(+ : sum)
	for (int64_t j = 0; j < c; j++)
		sum += y[j] * dy[j];
	SIMD_LOOP
	for (int64_t j = 0; j < c; j++)
		dx[j] = y[j] * (dy[j] - sum);
}

static int64_t rows_of(const struct kplan *k, int64_t *c)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	*c = s->d[1];
	return shape_count(s) / s->d[1];
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	int64_t c, rows = rows_of(k, &c);
	const float *x = a->in[0];
	float *y = a->out[0];
#pragma omp parallel for schedule(static) if (rows * c > FORK_FLOATS)
	for (int64_t i = 0; i < rows; i++)
		softmax_row(x + i * c, c, y + i * c);
	return 0;
}

static int grad_cpu(const struct kplan *k, const struct kargs *a)
{
	int64_t c, rows = rows_of(k, &c);
	const float *y = a->in[0], *dy = a->in[1];
	float *dx = a->out[0];
#pragma omp parallel for schedule(static) if (rows * c > FORK_FLOATS)
	for (int64_t i = 0; i < rows; i++)
		grad_row(y + i * c, dy + i * c, c, dx + i * c);
	return 0;
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
static int cuda(const struct kplan *k, const struct kargs *a)
{
	int64_t c, rows = rows_of(k, &c);
	return cuda_launched(k, k_softmax(cuda_stream(k->dev), cuda_in_type(k, 0), rows, c, a->in[0],
	                                  a->out[0]));
}

static int grad_cuda(const struct kplan *k, const struct kargs *a)
{
	int64_t c, rows = rows_of(k, &c);
	return cuda_launched(k, k_softmax_grad(cuda_stream(k->dev), cuda_in_type(k, 0), rows, c,
	                                       a->in[0], a->in[1], a->out[0]));
}
#endif

/* --- samples --- */

static const char *const samples[] = { "2x5x3x4", "3x37", "2x48x7x9", "1x3x4x3x5", "2x1x6", "9x2",
	                                   NULL };
static const char *const grad_samples[] = { "2x5x3x4 2x5x3x4", "3x37 3x37", "2x48x7x9 2x48x7x9",
	                                        NULL };

/* --- records --- */

static const struct op op_softmax = {
	.name = "softmax",
	.doc = "e^x of each channel as a share of the sum over the channels, at each point",
	.flags = OP_LAYER,
	.min_in = 1, .max_in = 1, .nout = 1,
	.inplace = 1,
	.shape = shape, .grad = grad, .reads = reads_point, .cost = cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = reference),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .run = cpu },
		CUDA_KERNEL(.layouts = KL_NATIVE, .run = cuda,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = samples,
};

static const struct op op_softmax_grad = {
	.name = "softmax_grad",
	.doc = "gradient of softmax from its output y and dy",
	.flags = OP_ONCE,
	.min_in = 2, .max_in = 2, .nout = 1,
	.inplace = 3,
	.shape = shape, .cost = cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = grad_reference),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .run = grad_cpu },
		CUDA_KERNEL(.layouts = KL_NATIVE, .run = grad_cuda,
		            .bf16_in = 3, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = grad_samples,
};

OPSET(softmax, &op_softmax, &op_softmax_grad);
