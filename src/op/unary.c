/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element-wise functions of one tensor, and the gradients of the piecewise linear ones (pow.c has
 * powers).
 *
 *   relu       max(x, 0)              dx = dy where y > 0
 *   leaky_relu x, slope * x below 0   dx = dy, slope * dy where y <= 0
 *   tanh       tanh x                 dx = dy (1 - y^2)
 *   sigmoid    1 / (1 + e^-x)         dx = dy y (1 - y)
 *   softplus   log(1 + e^x)           dx = dy sigmoid(x)
 *   square     x^2                    dx = 2 x dy
 *   sqrt       x^(1/2)                dx = dy / (2 y)
 *   exp        e^x                    dx = dy y
 *   log        ln x                   dx = dy / x
 *   log1p      ln(1 + x)              dx = dy / (1 + x)
 *   expm1      e^x - 1                dx = dy (y + 1)
 *   sin        sin x                  dx = dy cos x
 *   cos        cos x                  dx = -dy sin x
 *   abs        |x|                    dx = dy sign(x)
 *   sign       -1, 0 or 1             dx = 0
 *
 * If the gradient can be computed from the output, it is, so that x need not be kept and the op can
 * work in place. The gradients of the smooth functions are ordinary nodes and can be differentiated
 * again; the piecewise linear ones have a gradient op that is linear in dy (its derivative by y is
 * zero wherever it exists). All of them propagate NaN. */
#include <math.h>

#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/elementwise.h"
#include "op/lib/emit.h"
#include "op/lib/reads.h"
#include "op/lib/simd.h"
#include "op/lib/walk.h"

/* --- attributes --- */

/* The slope is not negative, since the output must have the input's sign. */
static const struct field leaky_relu_fields[] = {
	FIELD_SHORT(struct leaky_relu_attr, slope, FT_FLOAT, "0.01", 0, 1e6,
	            "factor for negative values"),
	FIELD_END
};

/* --- shape --- */

static int leaky_relu_shape(struct graph *g, struct node *n)
{
	const struct leaky_relu_attr *at = n->attr;
	if (!(at->slope >= 0))
		return ERR(E_CONFIG, &g->cur_loc, "the slope of '%s' must not be negative, but is %g",
		           n->op->name, at->slope);
	return walk_shape(g, n);
}

/* --- grad --- */

static int relu_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return graph_emit1(g, "relu_grad", NULL, 2, (tid[]){ n->out[0], dy[0] }, &dx[0]);
}

static int leaky_relu_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return graph_emit1(g, "leaky_relu_grad", n->attr, 2, (tid[]){ n->out[0], dy[0] }, &dx[0]);
}

/* The gradient of relu_grad and leaky_relu_grad, which are linear in dy: the same mask or slope
 * applied to the new gradient. */
static int mask_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	dx[0] = NONE;
	return graph_emit1(g, n->op->name, n->attr, 2, (tid[]){ n->in[0], dy[0] }, &dx[1]);
}

static int tanh_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_unary(g, "square", n->out[0], &t));
	TRY(emit_scale(g, t, -1, 1, &t));
	return emit_mul(g, dy[0], t, &dx[0]);
}

static int sigmoid_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_scale(g, n->out[0], -1, 1, &t));
	TRY(emit_mul(g, n->out[0], t, &t));
	return emit_mul(g, dy[0], t, &dx[0]);
}

static int softplus_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_unary(g, "sigmoid", n->in[0], &t));
	return emit_mul(g, dy[0], t, &dx[0]);
}

static int square_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_mul(g, n->in[0], dy[0], &t));
	return emit_scale(g, t, 2, 0, &dx[0]);
}

static int sqrt_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_div(g, dy[0], n->out[0], &t));
	return emit_scale(g, t, 0.5, 0, &dx[0]);
}

static int exp_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return emit_mul(g, dy[0], n->out[0], &dx[0]);
}

static int log_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return emit_div(g, dy[0], n->in[0], &dx[0]);
}

static int log1p_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_scale(g, n->in[0], 1, 1, &t));
	return emit_div(g, dy[0], t, &dx[0]);
}

static int expm1_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_scale(g, n->out[0], 1, 1, &t));
	return emit_mul(g, dy[0], t, &dx[0]);
}

static int sin_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_unary(g, "cos", n->in[0], &t));
	return emit_mul(g, dy[0], t, &dx[0]);
}

static int cos_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_unary(g, "sin", n->in[0], &t));
	TRY(emit_mul(g, dy[0], t, &t));
	return emit_scale(g, t, -1, 0, &dx[0]);
}

static int abs_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_unary(g, "sign", n->in[0], &t));
	return emit_mul(g, dy[0], t, &dx[0]);
}

/* --- kernels: an expression in v = x[i] for the reference, and another one for the CPU --- */

#define REFERENCE(name, reference)                                                      \
	static int name##_reference(const struct kplan *k, const struct kargs *a)           \
	{                                                                                   \
		const double *x = a->in[0];                                                     \
		double *y = a->out[0];                                                          \
		int64_t n = kplan_out_elements(k, 0);                                           \
		for (int64_t i = 0; i < n; i++) {                                               \
			double v = x[i];                                                            \
			y[i] = reference;                                                           \
		}                                                                               \
		return 0;                                                                       \
	}

#define CPU(name)                                                                       \
	static int name##_cpu(const struct kplan *k, const struct kargs *a)                 \
	{                                                                                   \
		walk_views(k, a, name##_range);                                                 \
		return 0;                                                                       \
	}

#define UNARY(name, reference, cpu)                                                     \
	REFERENCE(name, reference)                                                          \
	SIMD_CLONES(void, name##_range,                                                     \
	            (const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi), \
	            (k, a, lo, hi))                                                         \
	{                                                                                   \
		const float *x = a->in[0];                                                      \
		float *y = a->out[0];                                                           \
		SIMD_LOOP                                                                       \
		for (int64_t i = lo; i < hi; i++) {                                             \
			float v = x[i];                                                             \
			y[i] = cpu;                                                                 \
		}                                                                               \
	}                                                                                   \
	CPU(name)

UNARY(relu, v < 0 ? 0 : v, v < 0 ? 0 : v)
UNARY(tanh, tanh(v), simd_tanh(v))
UNARY(sigmoid, 1 / (1 + exp(-v)), simd_sigmoid(v))
UNARY(softplus, fmax(v, 0) + log1p(exp(-fabs(v))), fmaxf(v, 0) + log1pf(expf(-fabsf(v))))
UNARY(square, v * v, v * v)
UNARY(sqrt, sqrt(v), sqrtf(v))
UNARY(exp, exp(v), simd_exp(v))
UNARY(log, log(v), logf(v))
UNARY(log1p, log1p(v), log1pf(v))
UNARY(expm1, expm1(v), expm1f(v))
UNARY(abs, fabs(v), fabsf(v))
UNARY(sign, v > 0 ? 1 : v < 0 ? -1 : v, simd_select(v > 0, 1, simd_select(v < 0, -1, v)))

/* Whether simd_sin and simd_cos are accurate for all of x[lo..hi-1]. */
SIMD_CLONES(bool, turns_are_few, (const float *x, int64_t lo, int64_t hi), (x, lo, hi))
{
	uint32_t most = 0;
#pragma omp simd reduction(max : most)
	for (int64_t i = lo; i < hi; i++) {
		uint32_t size = simd_bits(x[i]) & 0x7FFFFFFF;
		most = size > most ? size : most;
	}
	return most < simd_bits(SIMD_TURN_MOST);
}

#define TURN(name)                                                                             \
	REFERENCE(name, name(v))                                                                   \
	SIMD_CLONES(void, name##_few, (const float *x, float *y, int64_t lo, int64_t hi),          \
	            (x, y, lo, hi))                                                                \
	{                                                                                          \
		SIMD_LOOP                                                                              \
		for (int64_t i = lo; i < hi; i++)                                                      \
			y[i] = simd_##name(x[i]);                                                          \
	}                                                                                          \
	static void name##_range(const struct kplan *k, const struct kargs *a, int64_t lo,         \
	                         int64_t hi)                                                       \
	{                                                                                          \
		const float *x = a->in[0];                                                             \
		float *y = a->out[0];                                                                  \
		if (turns_are_few(x, lo, hi))                                                          \
			name##_few(x, y, lo, hi);                                                          \
		else                                                                                   \
			for (int64_t i = lo; i < hi; i++)                                                  \
				y[i] = name##f(x[i]);                                                          \
	}                                                                                          \
	CPU(name)

TURN(sin)
TURN(cos)

static double slope_of(const struct kplan *k)
{
	return ((const struct leaky_relu_attr *)k->n->attr)->slope;
}

static int leaky_relu_reference(const struct kplan *k, const struct kargs *a)
{
	const double *x = a->in[0];
	double *y = a->out[0], slope = slope_of(k);
	int64_t n = kplan_out_elements(k, 0);
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] < 0 ? slope * x[i] : x[i];
	return 0;
}

SIMD_CLONES(void, leaky_relu_range,
            (const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi), (k, a, lo, hi))
{
	const float *x = a->in[0];
	float *y = a->out[0], slope = (float)slope_of(k);
	SIMD_LOOP
	for (int64_t i = lo; i < hi; i++)
		y[i] = simd_select(x[i] < 0, slope * x[i], x[i]);
}

static int leaky_relu_cpu(const struct kplan *k, const struct kargs *a)
{
	walk_views(k, a, leaky_relu_range);
	return 0;
}

/* relu_grad and leaky_relu_grad: dx = y > 0 ? dy : slope * dy. The result of relu is 0 by
 * selection, not by a product 0 * dy, which is NaN for infinite dy. */

static int relu_grad_reference(const struct kplan *k, const struct kargs *a)
{
	const double *y = a->in[0], *dy = a->in[1];
	double *dx = a->out[0];
	int64_t n = kplan_out_elements(k, 0);
	for (int64_t i = 0; i < n; i++)
		dx[i] = y[i] > 0 ? dy[i] : 0;
	return 0;
}

SIMD_CLONES(void, relu_grad_range,
            (const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi), (k, a, lo, hi))
{
	const float *y = a->in[0], *dy = a->in[1];
	float *dx = a->out[0];
	SIMD_LOOP
	for (int64_t i = lo; i < hi; i++)
		dx[i] = simd_select(y[i] > 0, dy[i], 0);
}

static int relu_grad_cpu(const struct kplan *k, const struct kargs *a)
{
	walk_views(k, a, relu_grad_range);
	return 0;
}

static int leaky_relu_grad_reference(const struct kplan *k, const struct kargs *a)
{
	const double *y = a->in[0], *dy = a->in[1];
	double *dx = a->out[0], slope = slope_of(k);
	int64_t n = kplan_out_elements(k, 0);
	for (int64_t i = 0; i < n; i++)
		dx[i] = y[i] > 0 ? dy[i] : slope * dy[i];
	return 0;
}

SIMD_CLONES(void, leaky_relu_grad_range,
            (const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi), (k, a, lo, hi))
{
	const float *y = a->in[0], *dy = a->in[1];
	float *dx = a->out[0], slope = (float)slope_of(k);
	SIMD_LOOP
	for (int64_t i = lo; i < hi; i++)
		dx[i] = simd_select(y[i] > 0, dy[i], slope * dy[i]);
}

static int leaky_relu_grad_cpu(const struct kplan *k, const struct kargs *a)
{
	walk_views(k, a, leaky_relu_grad_range);
	return 0;
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
CUDA_UNARY(relu_cuda, K_RELU, 0, 0)
CUDA_UNARY(leaky_relu_cuda, K_LEAKY_RELU, (float)slope_of(k), 0)
CUDA_UNARY(tanh_cuda, K_TANH, 0, 0)
CUDA_UNARY(sigmoid_cuda, K_SIGMOID, 0, 0)
CUDA_UNARY(softplus_cuda, K_SOFTPLUS, 0, 0)
CUDA_UNARY(square_cuda, K_SQUARE, 0, 0)
CUDA_UNARY(sqrt_cuda, K_SQRT, 0, 0)
CUDA_UNARY(exp_cuda, K_EXP, 0, 0)
CUDA_UNARY(log_cuda, K_LOG, 0, 0)
CUDA_UNARY(log1p_cuda, K_LOG1P, 0, 0)
CUDA_UNARY(expm1_cuda, K_EXPM1, 0, 0)
CUDA_UNARY(sin_cuda, K_SIN, 0, 0)
CUDA_UNARY(cos_cuda, K_COS, 0, 0)
CUDA_UNARY(abs_cuda, K_ABS, 0, 0)
CUDA_UNARY(sign_cuda, K_SIGN, 0, 0)
CUDA_BINARY(relu_grad_cuda, K_RELU_GRAD, 0)
CUDA_BINARY(leaky_relu_grad_cuda, K_LEAKY_RELU_GRAD, (float)slope_of(k))
#endif

/* --- samples --- */

static const char *const smooth_samples[] = { "2x3x4x5", "7", "s", "1x3x5x2x3", "3x37", NULL };
static const char *const kink_samples[] = {
	"2x3x4x5:away", "7:away", "s:away", "1x3x5x2x3:away", "3x37:away", NULL
};
static const char *const positive_samples[] = {
	"2x3x4x5:positive", "7:positive", "s:positive", "3x37:positive", NULL
};
static const char *const slope_samples[] = {
	"2x3x4x5:away", "9:away; slope: 0.3", "s:away; slope: 0", "5x33:away; slope: 1.5", NULL
};
static const char *const relu_grad_samples[] = {
	"2x3x4x5:away 2x3x4x5", "7:away 7", "s:away s", "3x37:away 3x37", NULL
};
static const char *const slope_grad_samples[] = {
	"2x3x4x5:away 2x3x4x5", "2x3x4x5:zero 2x3x4x5; slope: 0.3", "9:away 9; slope: 0.3",
	"s:away s; slope: 0", "5x33:away 5x33; slope: 1.5", NULL
};

/* --- records --- */

WALK_RECORD(relu, 1, "max(x, 0)", WALK_ZERO, kink_samples);
WALK_RECORD(tanh, 1, "hyperbolic tangent", WALK_ZERO, smooth_samples);
WALK_RECORD(sigmoid, 1, "logistic function 1 / (1 + exp(-x))", WALK_DENSE, smooth_samples);
WALK_RECORD(softplus, 1, "log(1 + exp(x))", WALK_DENSE, smooth_samples);
WALK_RECORD(square, 1, "x squared", WALK_ZERO, smooth_samples);
WALK_RECORD(sqrt, 1, "square root", WALK_ZERO, positive_samples);
WALK_RECORD(exp, 1, "exponential function", WALK_DENSE, smooth_samples);
WALK_RECORD(log, 1, "natural logarithm", WALK_DENSE, positive_samples);
WALK_RECORD(log1p, 1, "logarithm of 1 + x", WALK_ZERO, positive_samples);
WALK_RECORD(expm1, 1, "exponential function less 1", WALK_ZERO, smooth_samples);
WALK_RECORD(sin, 1, "sine", WALK_ZERO, smooth_samples);
WALK_RECORD(cos, 1, "cosine", WALK_DENSE, smooth_samples);
WALK_RECORD(abs, 1, "absolute value", WALK_ZERO, kink_samples);

static const struct op op_sign = {
	.name = "sign",
	.doc = "-1, 0 or 1 as x is negative, zero or positive",
	.flags = OP_FLAT | OP_NOGRAD | OP_ELEMENTWISE,
	.min_in = 1, .max_in = 1, .nout = 1,
	.nondiff = 1, .inplace = 1,
	.shape = walk_shape, .reads = reads_point, .cost = walk_cost,
	.kernel = {
		WALK_DOUBLE(sign_reference),
		[BACKEND_CPU] = { WALK_ZERO(sign_cpu), WALK_VIEWS },
		CUDA_KERNEL(WALK_ZERO(sign_cuda), CUDA_VIEWS, .bf16 = KB_ALIKE)
	},
	.samples = kink_samples,
};

static const struct op op_leaky_relu = {
	.name = "leaky_relu",
	.doc = "x, and slope * x where x is negative",
	.flags = OP_LAYER | OP_ELEMENTWISE,
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct leaky_relu_attr), .attrs = leaky_relu_fields,
	.inplace = 1,
	.shape = leaky_relu_shape, .grad = leaky_relu_grad, .reads = reads_point, .cost = walk_cost,
	.kernel = {
		WALK_DOUBLE(leaky_relu_reference),
		[BACKEND_CPU] = { WALK_ZERO(leaky_relu_cpu), WALK_VIEWS },
		CUDA_KERNEL(WALK_ZERO(leaky_relu_cuda), CUDA_VIEWS, .bf16 = KB_ALIKE)
	},
	.samples = slope_samples,
};

static const struct op op_relu_grad = {
	.name = "relu_grad",
	.doc = "gradient of relu from its output y and dy",
	.flags = OP_FLAT | OP_ELEMENTWISE,
	.min_in = 2, .max_in = 2, .nout = 1,
	.nondiff = 1, .inplace = 3,
	.shape = walk_shape, .grad = mask_grad, .cost = walk_cost,
	.kernel = {
		WALK_DOUBLE(relu_grad_reference),
		[BACKEND_CPU] = { WALK_ZERO(relu_grad_cpu), WALK_VIEWS },
		CUDA_KERNEL(WALK_ZERO(relu_grad_cuda), CUDA_VIEWS, .bf16 = KB_ALIKE)
	},
	.samples = relu_grad_samples,
};

static const struct op op_leaky_relu_grad = {
	.name = "leaky_relu_grad",
	.doc = "gradient of leaky_relu from its output y and dy",
	.flags = OP_FLAT | OP_ELEMENTWISE,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct leaky_relu_attr), .attrs = leaky_relu_fields,
	.nondiff = 1, .inplace = 3,
	.shape = leaky_relu_shape, .grad = mask_grad, .cost = walk_cost,
	.kernel = {
		WALK_DOUBLE(leaky_relu_grad_reference),
		[BACKEND_CPU] = { WALK_ZERO(leaky_relu_grad_cpu), WALK_VIEWS },
		CUDA_KERNEL(WALK_ZERO(leaky_relu_grad_cuda), CUDA_VIEWS, .bf16 = KB_ALIKE)
	},
	.samples = slope_grad_samples,
};

OPSET(unary, &op_relu, &op_leaky_relu, &op_tanh, &op_sigmoid, &op_softplus,
      &op_square, &op_sqrt, &op_exp, &op_log, &op_log1p, &op_expm1, &op_sin, &op_cos, &op_abs,
      &op_sign, &op_relu_grad, &op_leaky_relu_grad);
