/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation and what follows it, in one pass over memory (made by the pass `fuse`):
 *   y = f(z),   z = (x - mean) * rstd * gamma + beta [+ residual]
 * with f the identity above zero and slope * z below, so 0 is relu. With dz = f'(z) dy the
 * gradients are those of batch normalisation with dz in place of dy; dz is that of the residual.
 *
 *   batch_norm_relu_grad      z's sign is found again from x, so that neither z nor y is kept for it
 *   batch_norm_add_relu_grad  with a residual: z's sign is that of y, which is there; dz is an
 *                             output. dy may come as a sum of two.
 *
 * Arithmetic is that of the separate ops, element for element. */
#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/norm/norm.h"

struct batch_norm_relu {
	double eps, slope;
};

#define FIELD_EPS \
	FIELD_FLOAT(struct batch_norm_relu, eps, "1e-5", 1e-12, 1, "added to the variance before the root")
#define FIELD_SLOPE \
	FIELD_FLOAT(struct batch_norm_relu, slope, "0", 0, 1e6, "factor for negative values")

static const struct field fields[] = { FIELD_EPS, FIELD_SLOPE, FIELD_END };
static const struct field grad_fields[] = { FIELD_SLOPE, FIELD_END };

/* --- shape --- */

/* Which inputs and outputs are of x's shape. */
enum {
	X = 1,
	RESIDUAL = 1 << 3, INFERENCE_RESIDUAL = 1 << 5,      /* forward */
	DY = 2, ADDEND = 1 << 6,                             /* backward */
	Y = 1 << 5, SECOND = 1 << 6, MASKED = 1 << 3         /* backward with a residual */
};

static int shape(struct graph *g, struct node *n)
{
	return norm_batch_shape(g, n, X | RESIDUAL);
}

static int inference_shape(struct graph *g, struct node *n)
{
	return norm_shape(g, n, X | INFERENCE_RESIDUAL, X);
}

static int grad_shape(struct graph *g, struct node *n)
{
	return norm_shape(g, n, X | DY | ADDEND, X);
}

static int add_grad_shape(struct graph *g, struct node *n)
{
	return norm_shape(g, n, X | DY | Y | SECOND, X | MASKED);
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	if (dy[0] == NONE)
		return 0;
	if (n->nin > 3 && n->in[3] != NONE) {
		tid in[] = { n->in[0], dy[0], n->in[1], n->out[1], n->out[2], n->out[0] };
		return graph_emit(g, "batch_norm_add_relu_grad", n->attr, 6, in, 4, dx);
	}
	tid in[] = { n->in[0], dy[0], n->in[1], n->in[2], n->out[1], n->out[2] };
	return graph_emit(g, "batch_norm_relu_grad", n->attr, 6, in, 3, dx);
}

static int again(struct graph *g, const struct node *n, const tid *in, tid *out)
{
	const struct batch_norm_relu *at = n->attr;
	bool residual = n->nin > 3 && n->in[3] != NONE;
	if (n->out[1] == NONE || n->out[2] == NONE)
		return 0;
	tid read[] = { in[0], in[1], in[2], n->out[1], n->out[2], residual ? in[3] : NONE };
	return graph_emit1(g, "batch_norm_relu_again", &at->slope, residual ? 6 : 5, read, out);
}

/* --- kernels --- */

static double eps_of(const struct kplan *k)
{
	return ((const struct batch_norm_relu *)k->n->attr)->eps;
}

static struct norm_act act_of(const struct kplan *k)
{
	return (struct norm_act){ true, ((const struct batch_norm_relu *)k->n->attr)->slope };
}

static int reference(const struct kplan *k, const struct kargs *a)
{
	return norm_forward_reference(k, a, eps_of(k), act_of(k));
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_forward_cpu(k, a, eps_of(k), act_of(k));
}

static int inference_reference(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_reference(k, a, eps_of(k), act_of(k));
}

static int inference_cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_cpu(k, a, eps_of(k), act_of(k));
}

static struct norm_grad grad_places(const struct kplan *k)
{
	return (struct norm_grad){
		.x = 0, .dy = 1, .gamma = 2, .beta = 3, .mean = 4, .rstd = 5, .addend = 6,
		.y = -1, .second = -1, .masked = -1, .f = act_of(k),
	};
}

static struct norm_grad add_grad_places(const struct kplan *k)
{
	return (struct norm_grad){
		.x = 0, .dy = 1, .gamma = 2, .mean = 3, .rstd = 4, .y = 5, .second = 6,
		.beta = -1, .addend = -1, .masked = 3, .f = act_of(k),
	};
}

static int grad_reference(const struct kplan *k, const struct kargs *a)
{
	struct norm_grad at = grad_places(k);
	return norm_grad_reference(k, a, &at);
}

static int grad_cpu(const struct kplan *k, const struct kargs *a)
{
	struct norm_grad at = grad_places(k);
	return norm_grad_cpu(k, a, &at);
}

static int add_grad_reference(const struct kplan *k, const struct kargs *a)
{
	struct norm_grad at = add_grad_places(k);
	return norm_grad_reference(k, a, &at);
}

static int add_grad_cpu(const struct kplan *k, const struct kargs *a)
{
	struct norm_grad at = add_grad_places(k);
	return norm_grad_cpu(k, a, &at);
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
static int cuda(const struct kplan *k, const struct kargs *a)
{
	return norm_forward_cuda(k, a, eps_of(k), act_of(k));
}

static int inference_cuda(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_cuda(k, a, eps_of(k), act_of(k));
}

static int grad_cuda(const struct kplan *k, const struct kargs *a)
{
	struct norm_grad at = grad_places(k);
	return norm_grad_cuda(k, a, &at);
}

static int add_grad_cuda(const struct kplan *k, const struct kargs *a)
{
	struct norm_grad at = add_grad_places(k);
	return norm_grad_cuda(k, a, &at);
}
#endif

/* --- samples --- */

static const char *const samples[] = {
	"2x3x5x7 3:positive 3", "3x17x3x5 17 17; eps: 0.001, slope: 0.3", "2x1x4x3x5 1 1",
	"7x5 5 5:positive; slope: 0.01", "2x48x21x23 48:positive 48",
	"2x3x5x7 3:positive 3 2x3x5x7", "3x17x3x5 17 17 3x17x3x5; slope: 0.3",
	"2x48x21x23 48:positive 48 2x48x21x23", NULL
};
static const char *const inference_samples[] = {
	"2x3x5x7 3 3 3 3:positive", "1x17x3x3x5 17 17 17 17:positive; eps: 0.01, slope: 0.3",
	"4x5 5 5 5 5:positive", "2x3x5x7 3 3 3 3:positive 2x3x5x7",
	"1x48x21x23 48 48 48 48:positive 1x48x21x23", NULL
};
static const char *const grad_samples[] = {
	"2x3x5x7 2x3x5x7 3 3 3 3:positive", "2x17x3x3x5 2x17x3x3x5 17 17 17 17:positive; slope: 0.3",
	"9x5 9x5 5 5 5 5:positive 9x5", "2x48x21x23 2x48x21x23 48 48 48 48:positive 2x48x21x23", NULL
};
static const char *const add_grad_samples[] = {
	"2x3x5x7 2x3x5x7 3 3 3:positive 2x3x5x7",
	"2x17x3x3x5 2x17x3x3x5 17 17 17:positive 2x17x3x3x5; slope: 0.3",
	"9x5 9x5 5 5 5:positive 9x5 9x5",
	"2x48x21x23 2x48x21x23 48 48 48:positive 2x48x21x23 2x48x21x23", NULL
};

/* --- records --- */

#define KERNELS(id, in, out)                                                              \
	.kernel = {                                                                       \
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = id##reference },      \
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = id##cpu, \
		                  .slice_in = in, .slice_out = out,                       \
		                  .bf16_in = in, .bf16_out = out, .bf16 = KB_ALIKE },     \
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = norm_cuda_plan, .run = id##cuda, \
		            .slice_in = in, .slice_out = out,                             \
		            .bf16_in = in, .bf16_out = out, .bf16 = KB_ALIKE)             \
	}

static const struct op op_batch_norm_relu = {
	.name = "batch_norm_relu",
	.doc = "relu or leaky relu of batch_norm, or of batch_norm plus a residual",
	.min_in = 3, .max_in = 4, .nout = 4,
	.attr_size = sizeof(struct batch_norm_relu), .attrs = fields,
	.inplace = X | RESIDUAL,
	.shape = shape, .grad = grad, .again = again, .cost = norm_cost,
	KERNELS(, X | RESIDUAL, X),
	.samples = samples,
};

static const struct op op_batch_norm_inference_relu = {
	.name = "batch_norm_inference_relu",
	.doc = "relu or leaky relu of batch_norm_inference, or of that plus a residual",
	.flags = OP_NOGRAD,
	.min_in = 5, .max_in = 6, .nout = 1,
	.attr_size = sizeof(struct batch_norm_relu), .attrs = fields,
	.inplace = X | INFERENCE_RESIDUAL,
	.shape = inference_shape, .cost = norm_inference_cost,
	KERNELS(inference_, X | INFERENCE_RESIDUAL, X),
	.samples = inference_samples,
};

static const struct op op_batch_norm_relu_grad = {
	.name = "batch_norm_relu_grad",
	.doc = "gradients of batch_norm_relu for x, gamma and beta from x, dy and the statistics",
	.flags = OP_ONCE,
	.min_in = 6, .max_in = 7, .nout = 3,
	.attr_size = sizeof(struct batch_norm_relu), .attrs = grad_fields,
	.inplace = X | DY | ADDEND,
	.shape = grad_shape, .cost = norm_cost,
	KERNELS(grad_, X | DY | ADDEND, X),
	.samples = grad_samples,
};

static const struct op op_batch_norm_add_relu_grad = {
	.name = "batch_norm_add_relu_grad",
	.doc = "gradients of batch_norm_relu with a residual for x, gamma, beta and the residual",
	.flags = OP_ONCE,
	.min_in = 6, .max_in = 7, .nout = 4,
	.attr_size = sizeof(struct batch_norm_relu), .attrs = grad_fields,
	.inplace = X | DY | SECOND,
	.shape = add_grad_shape, .cost = norm_cost,
	KERNELS(add_grad_, X | DY | Y | SECOND, X | MASKED),
	.samples = add_grad_samples,
};

OPSET(batch_norm_relu, &op_batch_norm_relu, &op_batch_norm_inference_relu,
      &op_batch_norm_relu_grad, &op_batch_norm_add_relu_grad);
