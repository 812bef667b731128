/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Smooth element-wise activations. Each has its own gradient op, so that a training step keeps only
 * one tensor for the gradient.
 *
 *   gelu   x P(x), P the normal distribution, by the error function (approximate: none), or
 *          x/2 (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x^3) (approximate: tanh)
 *          dx = dy (P(x) + x e^(-x^2/2) / sqrt(2 pi)), or
 *          dx = dy/2 (1 + tanh u + x (1 - tanh^2 u) du/dx)
 *   silu   x s, s = 1 / (1 + e^-x)        dx = dy s (1 + x (1 - s))
 *   elu    x, alpha (e^x - 1) below 0     dx = dy, (y + alpha) dy where y <= 0
 *
 * All map zero to zero, and their gradients are zero wherever dy is.
 *
 * The gradient ops are linear in dy, and are differentiable: higher derivatives of gelu and silu
 * are nodes of op/slope.c. */
#include <math.h>

#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/emit.h"
#include "op/lib/reads.h"
#include "op/lib/simd.h"
#include "op/lib/walk.h"
#include "op/slope.h"

/* --- attributes --- */

enum approximate { EXACT, BY_TANH };
static const char *const approximate_names[] = { "none", "tanh", NULL };

struct gelu {
	int approximate;
};
static const struct field gelu_fields[] = {
	FIELD_ENUM(struct gelu, approximate, "none", approximate_names,
	           "how it is computed: none, by the error function; tanh, by a formula close to it"),
	FIELD_END
};

struct elu {
	double alpha;
};
static const struct field elu_fields[] = {
	FIELD_SHORT(struct elu, alpha, FT_FLOAT, "1", 0, 1e6,
	            "minus the limit for large negative values"),
	FIELD_END
};

static bool by_tanh(const struct kplan *k)
{
	return ((const struct gelu *)k->n->attr)->approximate == BY_TANH;
}

static double alpha_of(const struct kplan *k)
{
	return ((const struct elu *)k->n->attr)->alpha;
}

/* --- grad --- */

static int grad_of(struct graph *g, const struct node *n, const char *op, tid from, const tid *dy,
                   tid *dx)
{
	return graph_emit1(g, op, n->attr, 2, (tid[]){ from, dy[0] }, &dx[0]);
}

static int gelu_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return grad_of(g, n, "gelu_grad", n->in[0], dy, dx);
}

static int silu_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return grad_of(g, n, "silu_grad", n->in[0], dy, dx);
}

static int elu_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return grad_of(g, n, "elu_grad", n->out[0], dy, dx);
}

/* The gradients of a gradient op, whose output is dy f'(x): to dy it is the same op applied to the
 * new gradient d, to x it is d dy f''(x). */
static int grad_of_grad(struct graph *g, const struct node *n, enum slope_of of, tid d, tid *dx)
{
	tid t, second;
	dx[0] = dx[1] = NONE;
	if (grad_wanted(g, n, 1))
		TRY(grad_of(g, n, n->op->name, n->in[0], &d, &dx[1]));
	if (!grad_wanted(g, n, 0))
		return 0;
	TRY(slope_emit(g, of, 2, n->in[0], &second));
	TRY(emit_mul(g, n->in[1], second, &t));      /* the same for both values of d */
	return emit_mul(g, t, d, &dx[0]);
}

static int gelu_grad_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const bool tanh = ((const struct gelu *)n->attr)->approximate == BY_TANH;
	return grad_of_grad(g, n, tanh ? SLOPE_GELU_TANH : SLOPE_GELU, dy[0], dx);
}

static int silu_grad_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return grad_of_grad(g, n, SLOPE_SILU, dy[0], dx);
}

/* The gradient to y: d dy where y <= 0, else 0. */
static int elu_grad_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid all, above;
	dx[0] = dx[1] = NONE;
	if (grad_wanted(g, n, 1))
		TRY(grad_of(g, n, "elu_grad", n->in[0], dy, &dx[1]));
	if (!grad_wanted(g, n, 0))
		return 0;
	TRY(emit_mul(g, n->in[1], dy[0], &all));
	TRY(graph_emit1(g, "relu_grad", NULL, 2, (tid[]){ n->in[0], all }, &above));
	return emit_sub(g, all, above, &dx[0]);
}

/* --- the functions and their slopes, in double for the reference and in float --- */

static double gelu_double(double x, double a)
{
	(void)a;
	return 0.5 * x * (1 + erf(x * SQRT_HALF));
}

SIMD_INLINE float gelu_float(float x, float a)
{
	(void)a;
	return 0.5f * x * (1 + simd_erf(x * (float)SQRT_HALF));
}

static double gelu_slope_double(double x, double a)
{
	(void)a;
	return 0.5 * (1 + erf(x * SQRT_HALF)) + x * DENSITY * exp(-0.5 * x * x);
}

SIMD_INLINE float gelu_slope_float(float x, float a)
{
	(void)a;
	return 0.5f * (1 + simd_erf(x * (float)SQRT_HALF)) +
	       x * (float)DENSITY * simd_exp(-0.5f * x * x);
}

static double gelu_tanh_double(double x, double a)
{
	(void)a;
	return 0.5 * x * (1 + tanh(SQRT_2_PI * (x + GELU_CUBIC * x * x * x)));
}

SIMD_INLINE float gelu_tanh_float(float x, float a)
{
	(void)a;
	return 0.5f * x * (1 + simd_tanh((float)SQRT_2_PI * (x + (float)GELU_CUBIC * x * x * x)));
}

static double gelu_tanh_slope_double(double x, double a)
{
	double t = tanh(SQRT_2_PI * (x + GELU_CUBIC * x * x * x));
	(void)a;
	return 0.5 * (1 + t + x * (1 - t * t) * SQRT_2_PI * (1 + 3 * GELU_CUBIC * x * x));
}

SIMD_INLINE float gelu_tanh_slope_float(float x, float a)
{
	float t = simd_tanh((float)SQRT_2_PI * (x + (float)GELU_CUBIC * x * x * x));
	(void)a;
	return 0.5f * (1 + t + x * (1 - t * t) * (float)SQRT_2_PI *
	                           (1 + 3 * (float)GELU_CUBIC * x * x));
}

static double silu_double(double x, double a)
{
	(void)a;
	return x / (1 + exp(-x));
}

SIMD_INLINE float silu_float(float x, float a)
{
	(void)a;
	return x * simd_sigmoid(x);
}

static double silu_slope_double(double x, double a)
{
	double s = 1 / (1 + exp(-x));
	(void)a;
	return s * (1 + x * (1 - s));
}

SIMD_INLINE float silu_slope_float(float x, float a)
{
	float s = simd_sigmoid(x);
	(void)a;
	return s * (1 + x * (1 - s));
}

static double elu_double(double x, double a)
{
	return x < 0 ? a * expm1(x) : x;
}

SIMD_INLINE float elu_float(float x, float a)
{
	return simd_select(x < 0, a * simd_expm1(x), x);
}

/* The slope of elu as a function of the output y, which is 0 for all x below 0 if alpha is 0. The
 * slope at 0 is alpha, as in PyTorch. */
static double elu_slope_double(double y, double a)
{
	return y > 0 ? 1 : y + a;
}

SIMD_INLINE float elu_slope_float(float y, float a)
{
	return simd_select(y > 0, 1, y + a);
}

/* --- kernels --- */

#define FUNCTION(name, parameter)                                                       \
	static int name##_reference(const struct kplan *k, const struct kargs *a)           \
	{                                                                                   \
		const double *x = a->in[0], p = parameter;                                      \
		double *y = a->out[0];                                                          \
		for (int64_t i = 0; i < kplan_out_elements(k, 0); i++)                          \
			y[i] = name##_double(x[i], p);                                              \
		return 0;                                                                       \
	}                                                                                   \
	SIMD_CLONES(void, name##_range,                                                     \
	            (const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi), \
	            (k, a, lo, hi))                                                         \
	{                                                                                   \
		const float *x = a->in[0], p = (float)parameter;                                \
		float *y = a->out[0];                                                           \
		(void)k;                                                                        \
		SIMD_LOOP                                                                       \
		for (int64_t i = lo; i < hi; i++)                                               \
			y[i] = name##_float(x[i], p);                                               \
	}

#define GRADIENT(name, parameter)                                                       \
	static int name##_grad_reference(const struct kplan *k, const struct kargs *a)      \
	{                                                                                   \
		const double *x = a->in[0], *dy = a->in[1], p = parameter;                      \
		double *dx = a->out[0];                                                         \
		for (int64_t i = 0; i < kplan_out_elements(k, 0); i++)                          \
			dx[i] = name##_slope_double(x[i], p) * dy[i];                               \
		return 0;                                                                       \
	}                                                                                   \
	SIMD_CLONES(void, name##_grad_range,                                                \
	            (const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi), \
	            (k, a, lo, hi))                                                         \
	{                                                                                   \
		const float *x = a->in[0], *dy = a->in[1], p = (float)parameter;                \
		float *dx = a->out[0];                                                          \
		(void)k;                                                                        \
		SIMD_LOOP                                                                       \
		for (int64_t i = lo; i < hi; i++)                                               \
			dx[i] = name##_slope_float(x[i], p) * dy[i];                                \
	}

#define BOTH(name, parameter)  \
	FUNCTION(name, parameter)  \
	GRADIENT(name, parameter)

BOTH(gelu, 0)
BOTH(gelu_tanh, 0)
BOTH(silu, 0)
BOTH(elu, alpha_of(k))

#define CPU(name)                                                    \
	static int name##_cpu(const struct kplan *k, const struct kargs *a) \
	{                                                                \
		walk_views(k, a, name##_range);                              \
		return 0;                                                    \
	}

/* gelu has two forms. */
static int gelu_any_reference(const struct kplan *k, const struct kargs *a)
{
	return by_tanh(k) ? gelu_tanh_reference(k, a) : gelu_reference(k, a);
}

static int gelu_any_grad_reference(const struct kplan *k, const struct kargs *a)
{
	return by_tanh(k) ? gelu_tanh_grad_reference(k, a) : gelu_grad_reference(k, a);
}

static int gelu_cpu(const struct kplan *k, const struct kargs *a)
{
	walk_views(k, a, by_tanh(k) ? gelu_tanh_range : gelu_range);
	return 0;
}

static int gelu_grad_cpu(const struct kplan *k, const struct kargs *a)
{
	walk_views(k, a, by_tanh(k) ? gelu_tanh_grad_range : gelu_grad_range);
	return 0;
}

CPU(silu)
CPU(silu_grad)
CPU(elu)
CPU(elu_grad)

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
CUDA_UNARY(gelu_cuda, by_tanh(k) ? K_GELU_TANH : K_GELU, 0, 0)
CUDA_BINARY(gelu_grad_cuda, by_tanh(k) ? K_GELU_TANH_GRAD : K_GELU_GRAD, 0)
CUDA_UNARY(silu_cuda, K_SILU, 0, 0)
CUDA_BINARY(silu_grad_cuda, K_SILU_GRAD, 0)
CUDA_UNARY(elu_cuda, K_ELU, (float)alpha_of(k), 0)
CUDA_BINARY(elu_grad_cuda, K_ELU_GRAD, (float)alpha_of(k))
#endif

/* --- samples --- */

static const char *const gelu_samples[] = { "2x3x4x5", "7; approximate: tanh", "s",
	                                        "1x3x5x2x3; approximate: tanh", "3x37", NULL };
static const char *const gelu_grad_samples[] = { "2x3x4x5 2x3x4x5", "7 7; approximate: tanh",
	                                             "s s", "3x37 3x37",
	                                             "3x37 3x37; approximate: tanh", NULL };
static const char *const silu_samples[] = { "2x3x4x5", "7", "s", "1x3x5x2x3", "3x37", NULL };
static const char *const silu_grad_samples[] = { "2x3x4x5 2x3x4x5", "7 7", "3x37 3x37", NULL };
static const char *const elu_samples[] = { "2x3x4x5:away", "9:away; alpha: 0.3",
	                                       "s:away; alpha: 0", "9:away; alpha: 0",
	                                       "5x33:away; alpha: 1.5", NULL };
static const char *const elu_grad_samples[] = { "2x3x4x5:away 2x3x4x5",
	                                            "9:away 9; alpha: 0.3",
	                                            "5x33:away 5x33; alpha: 1.5", NULL };

/* --- records --- */

#define WINDOWS(fn) .layouts = KL_SAME, .run = fn, .bf16_in = 3, .bf16_out = 1
#define KERNELS(reference, cpu, cuda)                                                              \
	{                                                                                              \
		WALK_DOUBLE(reference),                                                                    \
		[BACKEND_CPU] = { WINDOWS(cpu), WALK_VIEWS },                                              \
		CUDA_KERNEL(WINDOWS(cuda), CUDA_VIEWS, .bf16 = KB_ALIKE)                                   \
	}
#define FORWARD                                                                                    \
	.flags = OP_LAYER | OP_ELEMENTWISE, .min_in = 1, .max_in = 1, .nout = 1, .inplace = 1,         \
	.shape = walk_shape, .reads = reads_point, .cost = walk_cost
#define BACKWARD                                                                                   \
	.flags = OP_ELEMENTWISE, .min_in = 2, .max_in = 2, .nout = 1, .inplace = 3,                    \
	.shape = walk_shape, .cost = walk_cost

static const struct op op_gelu = {
	.name = "gelu",
	.doc = "x times the normal distribution function of x",
	FORWARD, .grad = gelu_grad,
	.attr_size = sizeof(struct gelu), .attrs = gelu_fields,
	.kernel = KERNELS(gelu_any_reference, gelu_cpu, gelu_cuda),
	.samples = gelu_samples,
};

static const struct op op_gelu_grad = {
	.name = "gelu_grad",
	.doc = "gradient of gelu from its input x and dy",
	BACKWARD, .grad = gelu_grad_grad,
	.attr_size = sizeof(struct gelu), .attrs = gelu_fields,
	.kernel = KERNELS(gelu_any_grad_reference, gelu_grad_cpu, gelu_grad_cuda),
	.samples = gelu_grad_samples,
};

static const struct op op_silu = {
	.name = "silu",
	.doc = "x times the logistic function of x (swish)",
	FORWARD, .grad = silu_grad,
	.kernel = KERNELS(silu_reference, silu_cpu, silu_cuda),
	.samples = silu_samples,
};

static const struct op op_silu_grad = {
	.name = "silu_grad",
	.doc = "gradient of silu from its input x and dy",
	BACKWARD, .grad = silu_grad_grad,
	.kernel = KERNELS(silu_grad_reference, silu_grad_cpu, silu_grad_cuda),
	.samples = silu_grad_samples,
};

static const struct op op_elu = {
	.name = "elu",
	.doc = "x, and alpha * (exp(x) - 1) where x is negative",
	FORWARD, .grad = elu_grad,
	.attr_size = sizeof(struct elu), .attrs = elu_fields,
	.kernel = KERNELS(elu_reference, elu_cpu, elu_cuda),
	.samples = elu_samples,
};

static const struct op op_elu_grad = {
	.name = "elu_grad",
	.doc = "gradient of elu from its output y and dy",
	BACKWARD, .grad = elu_grad_grad,
	.attr_size = sizeof(struct elu), .attrs = elu_fields,
	.kernel = KERNELS(elu_grad_reference, elu_grad_cpu, elu_grad_cuda),
	.samples = elu_grad_samples,
};

OPSET(activation, &op_gelu, &op_gelu_grad, &op_silu, &op_silu_grad, &op_elu, &op_elu_grad);
