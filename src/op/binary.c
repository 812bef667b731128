/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arithmetic on two tensors of one shape. Every gradient is made of these same ops and so can be
 * differentiated again; what has to be repeated to a common shape is so by an explicit
 * `broadcast`. */
#include "base/err.h"
#include "base/simd.h"
#include "op/lib/cuda.h"
#include "op/lib/emit.h"
#include "op/lib/walk.h"

/* --- grad --- */

static int add_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	dx[0] = dx[1] = dy[0];
	return 0;
}

static int subtract_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	dx[0] = dy[0];
	dx[1] = NONE;
	return grad_wanted(g, n, 1) ? emit_scale(g, dy[0], -1, 0, &dx[1]) : 0;
}

static int multiply_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	for (int i = 0; i < 2; i++) {
		dx[i] = NONE;
		if (grad_wanted(g, n, i))
			TRY(emit_mul(g, dy[0], n->in[1 - i], &dx[i]));
	}
	return 0;
}

/* y = a / b: da = dy / b, db = -y da. */
static int divide_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid da, t;
	dx[0] = dx[1] = NONE;
	TRY(emit_div(g, dy[0], n->in[1], &da));
	if (grad_wanted(g, n, 0))
		dx[0] = da;
	if (!grad_wanted(g, n, 1))
		return 0;
	TRY(emit_mul(g, da, n->out[0], &t));
	return emit_scale(g, t, -1, 0, &dx[1]);
}

/* --- kernels --- */

#define BINARY(name, op)                                                                \
	static int name##_reference(const struct kplan *k, const struct kargs *a)           \
	{                                                                                   \
		const double *p = a->in[0], *q = a->in[1];                                      \
		double *y = a->out[0];                                                          \
		int64_t n = kplan_out_elements(k, 0);                                           \
		for (int64_t i = 0; i < n; i++)                                                 \
			y[i] = p[i] op q[i];                                                        \
		return 0;                                                                       \
	}                                                                                   \
	SIMD_CLONES(void, name##_range,                                                     \
	            (const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi), \
	            (k, a, lo, hi))                                                         \
	{                                                                                   \
		const float *p = a->in[0], *q = a->in[1];                                       \
		float *y = a->out[0];                                                           \
		SIMD_LOOP                                                                       \
		for (int64_t i = lo; i < hi; i++)                                               \
			y[i] = p[i] op q[i];                                                        \
	}                                                                                   \
	static int name##_cpu(const struct kplan *k, const struct kargs *a)                 \
	{                                                                                   \
		walk_views(k, a, name##_range);                                                 \
		return 0;                                                                       \
	}

BINARY(add, +)
BINARY(subtract, -)
BINARY(multiply, *)
BINARY(divide, /)

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
CUDA_BINARY(add_cuda, K_ADD, 0)
CUDA_BINARY(subtract_cuda, K_SUBTRACT, 0)
CUDA_BINARY(multiply_cuda, K_MULTIPLY, 0)
CUDA_BINARY(divide_cuda, K_DIVIDE, 0)
#endif

/* --- samples --- */

static const char *const samples[] = {
	"2x3x4x5 2x3x4x5", "7 7", "s s", "1x3x5x2x3 1x3x5x2x3", "3x37 3x37", NULL
};
static const char *const divide_samples[] = {
	"2x3x4x5 2x3x4x5:positive", "7 7:positive", "s s:positive", "3x37 3x37:positive", NULL
};

/* --- records --- */

WALK_RECORD(add, 2, "a + b, element by element", WALK_ZERO, samples);
WALK_RECORD(subtract, 2, "a - b, element by element", WALK_ZERO, samples);
WALK_RECORD(multiply, 2, "a * b, element by element", WALK_ZERO, samples);
WALK_RECORD(divide, 2, "a / b, element by element", WALK_DENSE, divide_samples);

OPSET(binary, &op_add, &op_subtract, &op_multiply, &op_divide);
