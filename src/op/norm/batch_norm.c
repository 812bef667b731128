/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation (Ioffe and Szegedy, 2015) over every axis but channels:
 *   y = gamma * (x - mean) * rstd + beta,   rstd = 1 / sqrt(variance + eps)
 * with the biased variance (divided by n). Training uses the batch's statistics, inference the
 * running ones. With xhat = (x - mean) * rstd the gradients are
 *   dbeta = sum dy,   dgamma = sum dy xhat,
 *   dx = gamma rstd (dy - dbeta / n - xhat dgamma / n) [+ addend].
 * The addend is another gradient of x; the sum may be written over it. */
#include <math.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/norm/norm.h"

struct batch_norm {
	double eps;
};

static const struct field fields[] = {
	FIELD_FLOAT(struct batch_norm, eps, "1e-5", 1e-12, 1, "added to the variance before the root"),
	FIELD_END
};

/* --- shape --- */

enum { X = 1, DY = 2, ADDEND = 1 << 5 };     /* which inputs and outputs are of x's shape */

static int shape(struct graph *g, struct node *n)
{
	return norm_batch_shape(g, n, X);
}

static int grad_shape(struct graph *g, struct node *n)
{
	return norm_shape(g, n, X | DY | ADDEND, X);
}

static int inference_shape(struct graph *g, struct node *n)
{
	return norm_shape(g, n, X, X);
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	for (int i = 1; i < n->nout; i++)
		if (dy[i] != NONE)
			return ERR(E_UNSUPPORTED, &n->loc,
			           "layer '%s': the batch statistics of '%s' have no gradient rule",
			           check_layer(n), n->op->name);
	if (dy[0] == NONE)
		return 0;
	tid in[] = { n->in[0], dy[0], n->in[1], n->out[1], n->out[2] };
	return graph_emit(g, "batch_norm_grad", NULL, 5, in, 3, dx);
}

static int again(struct graph *g, const struct node *n, const tid *in, tid *out)
{
	if (n->out[1] == NONE || n->out[2] == NONE)
		return 0;
	tid read[] = { in[0], in[1], in[2], n->out[1], n->out[2] };
	return graph_emit1(g, "batch_norm_again", NULL, 5, read, out);
}

static int inference_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	if (dy[0] == NONE)
		return 0;
	tid in[] = { n->in[0], dy[0], n->in[1], n->in[3], n->in[4] };
	return graph_emit(g, "batch_norm_inference_grad", n->attr, 5, in, 3, dx);
}

/* --- kernels --- */

static double eps_of(const struct kplan *k)
{
	return ((const struct batch_norm *)k->n->attr)->eps;
}

static const struct norm_act linear;

static int reference(const struct kplan *k, const struct kargs *a)
{
	return norm_forward_reference(k, a, eps_of(k), linear);
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_forward_cpu(k, a, eps_of(k), linear);
}

static int inference_reference(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_reference(k, a, eps_of(k), linear);
}

static int inference_cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_cpu(k, a, eps_of(k), linear);
}

static const struct norm_grad places = {
	.x = 0, .dy = 1, .gamma = 2, .mean = 3, .rstd = 4, .addend = 5,
	.beta = -1, .y = -1, .second = -1, .masked = -1
};

static int grad_reference(const struct kplan *k, const struct kargs *a)
{
	return norm_grad_reference(k, a, &places);
}

static int grad_cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_grad_cpu(k, a, &places);
}

static int inference_grad_reference(const struct kplan *k, const struct kargs *a)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const double *x = a->in[0], *dy = a->in[1], *gamma = a->in[2], *mean = a->in[3],
		     *variance = a->in[4];
	double *dx = a->out[0], *dgamma = a->out[1], *dbeta = a->out[2];
	int64_t points = shape_count(s) / (s->d[0] * s->d[1]);
	for (int64_t c = 0; c < s->d[1]; c++)
		dgamma[c] = dbeta[c] = 0;
	for (int64_t i = 0; i < shape_count(s); i++) {
		int64_t c = i / points % s->d[1];
		double r = 1 / sqrt(variance[c] + eps_of(k));
		dbeta[c] += dy[i];
		dgamma[c] += dy[i] * (x[i] - mean[c]) * r;
		dx[i] = dy[i] * gamma[c] * r;
	}
	return 0;
}

static int inference_grad_cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_grad_cpu(k, a, eps_of(k));
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
static int cuda(const struct kplan *k, const struct kargs *a)
{
	return norm_forward_cuda(k, a, eps_of(k), linear);
}

static int inference_cuda(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_cuda(k, a, eps_of(k), linear);
}

static int grad_cuda(const struct kplan *k, const struct kargs *a)
{
	return norm_grad_cuda(k, a, &places);
}

static int inference_grad_cuda(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_grad_cuda(k, a, eps_of(k));
}
#endif

#define NORM_CUDA(fn, in, out)                                                                  \
	CUDA_KERNEL(.layouts = KL_NATIVE, .plan = norm_cuda_plan, .run = fn, .slice_in = in, .slice_out = out, \
	            .bf16_in = in, .bf16_out = out, .bf16 = KB_ALIKE)

/* --- samples --- */

static const char *const samples[] = {
	"2x3x5x7 3:positive 3", "3x17x3x5 17 17; eps: 0.001", "2x1x4x3x5 1 1",
	"7x5 5 5:positive",     "2x48x21x23 48:positive 48",  NULL
};
static const char *const grad_samples[] = { "2x3x5x7 2x3x5x7 3 3 3:positive",
	                                    "2x17x3x3x5 2x17x3x3x5 17 17 17:positive",
	                                    "9x5 9x5 5 5 5:positive",
	                                    "2x48x21x23 2x48x21x23 48 48 48:positive",
	                                    "2x3x5x7 2x3x5x7 3 3 3:positive 2x3x5x7",
	                                    "2x48x21x23 2x48x21x23 48 48 48:positive 2x48x21x23",
	                                    NULL };
static const char *const inference_samples[] = { "2x3x5x7 3 3 3 3:positive",
	                                         "1x17x3x3x5 17 17 17 17:positive; eps: 0.01",
	                                         "4x5 5 5 5 5:positive",
	                                         "1x48x21x23 48 48 48 48:positive", NULL };
static const char *const inference_grad_samples[] = {
	"2x3x5x7 2x3x5x7 3 3 3:positive", "1x48x21x23 1x48x21x23 48 48 48:positive; eps: 0.01",
	NULL
};

/* --- records --- */

static const struct op op_batch_norm = {
	.name = "batch_norm",
	.doc = "normalises channels by the batch's mean and variance, which it also gives",
	.min_in = 3, .max_in = 3, .nout = 4,
	.attr_size = sizeof(struct batch_norm), .attrs = fields,
	.inplace = 1,
	.shape = shape, .grad = grad, .again = again, .cost = norm_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = reference },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = cpu,
		                  .slice_in = X, .slice_out = X,
		                  .bf16_in = X, .bf16_out = X, .bf16 = KB_ALIKE },
		NORM_CUDA(cuda, X, X)
	},
	.samples = samples,
};

static const struct op op_batch_norm_grad = {
	.name = "batch_norm_grad",
	.doc = "gradients of batch_norm for x, gamma and beta from x, dy, gamma, mean and 1 / deviation",
	.flags = OP_ONCE,
	.min_in = 5, .max_in = 6, .nout = 3,
	.inplace = X | DY | ADDEND,
	.shape = grad_shape, .cost = norm_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = grad_reference },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = grad_cpu,
		                  .slice_in = X | DY | ADDEND, .slice_out = X,
		                  .bf16_in = X | DY | ADDEND, .bf16_out = X, .bf16 = KB_ALIKE },
		NORM_CUDA(grad_cuda, X | DY | ADDEND, X)
	},
	.samples = grad_samples,
};

static const struct op op_batch_norm_inference = {
	.name = "batch_norm_inference",
	.doc = "normalises each channel by the running mean and variance",
	.min_in = 5, .max_in = 5, .nout = 1,
	.attr_size = sizeof(struct batch_norm), .attrs = fields,
	.nondiff = 1u << 3 | 1u << 4, .inplace = 1,
	.shape = inference_shape, .grad = inference_grad, .cost = norm_inference_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = inference_reference },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = inference_cpu,
		                  .slice_in = X, .slice_out = X,
		                  .bf16_in = X, .bf16_out = X, .bf16 = KB_ALIKE },
		NORM_CUDA(inference_cuda, X, X)
	},
	.samples = inference_samples,
};

static const struct op op_batch_norm_inference_grad = {
	.name = "batch_norm_inference_grad",
	.doc = "gradients of batch_norm_inference for x, gamma and beta",
	.flags = OP_ONCE,
	.min_in = 5, .max_in = 5, .nout = 3,
	.attr_size = sizeof(struct batch_norm), .attrs = fields,
	.inplace = X | DY,
	.shape = grad_shape, .cost = norm_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = inference_grad_reference },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = inference_grad_cpu,
		                  .slice_in = X | DY, .slice_out = X,
		                  .bf16_in = X | DY, .bf16_out = X, .bf16 = KB_ALIKE },
		NORM_CUDA(inference_grad_cuda, X | DY, X)
	},
	.samples = inference_grad_samples,
};

OPSET(batch_norm, &op_batch_norm, &op_batch_norm_grad, &op_batch_norm_inference,
      &op_batch_norm_inference_grad);
