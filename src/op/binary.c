/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element-wise ops on two tensors of one shape: arithmetic, minimum, maximum, and the selection
 * between two by a third. Every gradient consists of these ops (and relu_grad), so it can be
 * differentiated again. Tensors of different shapes need an explicit `broadcast`.
 *
 *   minimum    a where a < b, else b      da = dy where b - a > 0, db = dy - da
 *   maximum    a where a > b, else b      da = dy where a - b > 0, db = dy - da
 *   select     a where c >= 0, else b     da = dy where c >= 0, else 0; db = 0 there, else dy
 *
 * If a and b are equal, b gets the whole gradient. A NaN in a or b becomes the result of minimum
 * and maximum; a NaN in c selects b. */
#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/reads.h"
#include "op/lib/emit.h"
#include "op/lib/simd.h"
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

/* The gradients of a and b if a was chosen wherever x is positive. */
static int split(struct graph *g, const struct node *n, tid x, tid dy, tid *dx)
{
	dx[1] = NONE;
	TRY(graph_emit1(g, "relu_grad", NULL, 2, (tid[]){ x, dy }, &dx[0]));
	return grad_wanted(g, n, 1) ? emit_sub(g, dy, dx[0], &dx[1]) : 0;
}

static int minimum_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_sub(g, n->in[1], n->in[0], &t));
	return split(g, n, t, dy[0], dx);
}

static int maximum_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_sub(g, n->in[0], n->in[1], &t));
	return split(g, n, t, dy[0], dx);
}

static int select_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid none;
	dx[0] = dx[1] = dx[2] = NONE;
	TRY(emit_fill(g, 0, node_out_shape(g, n, 0), &none));
	if (grad_wanted(g, n, 1))
		TRY(graph_emit1(g, "select", NULL, 3, (tid[]){ n->in[0], dy[0], none }, &dx[1]));
	if (!grad_wanted(g, n, 2))
		return 0;
	return graph_emit1(g, "select", NULL, 3, (tid[]){ n->in[0], none, dy[0] }, &dx[2]);
}

/* --- kernels --- */

#define BINARY(name, reference, cpu)                                                    \
	static int name##_reference(const struct kplan *k, const struct kargs *a)           \
	{                                                                                   \
		const double *p = a->in[0], *q = a->in[1];                                      \
		double *y = a->out[0];                                                          \
		int64_t n = kplan_out_elements(k, 0);                                           \
		for (int64_t i = 0; i < n; i++) {                                               \
			const double u = p[i], v = q[i];                                            \
			y[i] = reference;                                                           \
		}                                                                               \
		return 0;                                                                       \
	}                                                                                   \
	SIMD_CLONES(void, name##_range,                                                     \
	            (const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi), \
	            (k, a, lo, hi))                                                         \
	{                                                                                   \
		const float *p = a->in[0], *q = a->in[1];                                       \
		float *y = a->out[0];                                                           \
		SIMD_LOOP                                                                       \
		for (int64_t i = lo; i < hi; i++) {                                             \
			const float u = p[i], v = q[i];                                             \
			y[i] = cpu;                                                                 \
		}                                                                               \
	}                                                                                   \
	static int name##_cpu(const struct kplan *k, const struct kargs *a)                 \
	{                                                                                   \
		walk_views(k, a, name##_range);                                                 \
		return 0;                                                                       \
	}

BINARY(add, u + v, u + v)
BINARY(subtract, u - v, u - v)
BINARY(multiply, u * v, u * v)
BINARY(divide, u / v, u / v)
BINARY(minimum, u < v || u != u ? u : v, simd_select((u < v) | (u != u), u, v))
BINARY(maximum, u > v || u != u ? u : v, simd_select((u > v) | (u != u), u, v))

static int select_reference(const struct kplan *k, const struct kargs *a)
{
	const double *c = a->in[0], *p = a->in[1], *q = a->in[2];
	double *y = a->out[0];
	for (int64_t i = 0; i < kplan_out_elements(k, 0); i++)
		y[i] = c[i] >= 0 ? p[i] : q[i];
	return 0;
}

SIMD_CLONES(void, select_range,
            (const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi), (k, a, lo, hi))
{
	const float *c = a->in[0], *p = a->in[1], *q = a->in[2];
	float *y = a->out[0];
	SIMD_LOOP
	for (int64_t i = lo; i < hi; i++)
		y[i] = simd_select(c[i] >= 0, p[i], q[i]);
}

static int select_cpu(const struct kplan *k, const struct kargs *a)
{
	walk_views(k, a, select_range);
	return 0;
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
CUDA_BINARY(add_cuda, K_ADD, 0)
CUDA_BINARY(subtract_cuda, K_SUBTRACT, 0)
CUDA_BINARY(multiply_cuda, K_MULTIPLY, 0)
CUDA_BINARY(divide_cuda, K_DIVIDE, 0)
CUDA_BINARY(minimum_cuda, K_MINIMUM, 0)
CUDA_BINARY(maximum_cuda, K_MAXIMUM, 0)

static int select_cuda(const struct kplan *k, const struct kargs *a)
{
	return cuda_launched(k, k_select(cuda_stream(k->dev), cuda_out_type(k, 0),
	                                 kplan_out_elements(k, 0), a->in[0], a->in[1], a->in[2],
	                                 a->out[0]));
}
#endif

/* --- samples --- */

static const char *const samples[] = {
	"2x3x4x5 2x3x4x5", "7 7", "s s", "1x3x5x2x3 1x3x5x2x3", "3x37 3x37", NULL
};
static const char *const divide_samples[] = {
	"2x3x4x5 2x3x4x5:positive", "7 7:positive", "s s:positive", "3x37 3x37:positive", NULL
};
/* Each difference is far from zero. */
static const char *const extreme_samples[] = {
	"2x3x4x5:away 2x3x4x5:zero", "7:zero 7:away", "s:away s:zero", "3x37:zero 3x37:away", NULL
};
static const char *const select_samples[] = {
	"2x3x4x5:away 2x3x4x5 2x3x4x5", "7:zero 7 7", "s:away s s", "3x37:away 3x37 3x37",
	"2x1x3x5x2:away 2x1x3x5x2 2x1x3x5x2", NULL
};

/* --- records --- */

WALK_RECORD(add, 2, "a + b, element by element", WALK_ZERO, samples);
WALK_RECORD(subtract, 2, "a - b, element by element", WALK_ZERO, samples);
WALK_RECORD(multiply, 2, "a * b, element by element", WALK_ZERO, samples);
WALK_RECORD(divide, 2, "a / b, element by element", WALK_DENSE, divide_samples);
WALK_RECORD(minimum, 2, "the smaller of a and b, element by element", WALK_ZERO, extreme_samples);
WALK_RECORD(maximum, 2, "the larger of a and b, element by element", WALK_ZERO, extreme_samples);

static const struct op op_select = {
	.name = "select",
	.doc = "(c, a, b) -> a where c >= 0, else b, element by element",
	.flags = OP_FLAT | OP_ELEMENTWISE,
	.min_in = 3, .max_in = 3, .nout = 1,
	.nondiff = 1, .inplace = 7,
	.shape = walk_shape, .grad = select_grad, .reads = reads_point, .cost = walk_cost,
	.kernel = {
		WALK_DOUBLE(select_reference),
		[BACKEND_CPU] = { .layouts = KL_SAME, .run = select_cpu, WALK_VIEWS, .bf16_in = 7,
		                  .bf16_out = 1 },
		CUDA_KERNEL(.layouts = KL_SAME, .run = select_cuda, .bf16_in = 7, .bf16_out = 1,
		            .bf16 = KB_ALIKE)
	},
	.samples = select_samples,
};

OPSET(binary, &op_add, &op_subtract, &op_multiply, &op_divide, &op_minimum, &op_maximum,
      &op_select);
