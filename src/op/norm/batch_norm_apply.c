/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation by given statistics, in one pass over x. f is defined in batch_norm.c; slope
 * 1 means no activation:
 *
 *   batch_norm_inference   y = f((x - mean) / sqrt(variance + eps) * gamma + beta [+ residual])
 *   batch_norm_apply       y = f((x - mean) * rstd * gamma + beta [+ residual])
 *
 * The first uses the running statistics. The second uses those of the batch, and its result has the
 * bits of batch_norm. The pass `recompute` inserts it to compute a result again that is not kept
 * for the backward part (the running statistics are not updated a second time); the passes
 * `piece_statistics` and `moments` use it with statistics from other nodes. They are two ops,
 * because the gradient of the first treats its statistics as constants, and the second has no
 * gradient. batch_norm_apply_signs also gives the signs of y (batch_norm.c). */
#include <math.h>

#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/elementwise.h"
#include "op/lib/reads.h"
#include "op/norm/norm.h"

static const struct field inference_fields[] = { NORM_EPS, NORM_SLOPE, FIELD_END };
static const struct field grad_fields[] = { NORM_EPS, FIELD_END };
static const struct field apply_fields[] = { NORM_SLOPE, FIELD_END };

enum { X = 1, DY = 2, RESIDUAL = 1 << 5 };   /* bits for the inputs and outputs of x's shape */

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	return norm_shape(g, n, X | RESIDUAL, X, 1);
}

static int grad_shape(struct graph *g, struct node *n)
{
	return norm_shape(g, n, X | DY, X, 3);
}

static int signs_shape(struct graph *g, struct node *n)
{
	TRY(shape(g, n));
	return norm_signs_shape(g, n);
}

/* --- grad --- */

static int inference_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const struct norm_attr *at = n->attr;
	const struct leaky_relu_attr leaky = { at->slope };
	tid dz = dy[0];
	if (dz == NONE)
		return 0;
	if (at->slope == 0)
		TRY(graph_emit1(g, "relu_grad", NULL, 2, (tid[]){ n->out[0], dy[0] }, &dz));
	else if (at->slope != 1)
		TRY(graph_emit1(g, "leaky_relu_grad", &leaky, 2, (tid[]){ n->out[0], dy[0] }, &dz));
	if (n->nin > 5)
		dx[5] = dz;
	const tid in[] = { n->in[0], dz, n->in[1], n->in[3], n->in[4] };
	return graph_emit(g, "batch_norm_inference_grad", at, 5, in, 3, dx);
}

/* --- kernels --- */

static double eps_of(const struct kplan *k)
{
	return k->n->op->attrs == apply_fields ? NORM_AGAIN :
	       ((const struct norm_attr *)k->n->attr)->eps;
}

/* A node with a residual uses the activated form; there a slope of 1 has no effect. */
static struct norm_act act_of(const struct kplan *k)
{
	const double slope = ((const struct norm_attr *)k->n->attr)->slope;
	return (struct norm_act){ slope != 1 || (k->n->nin > 5 && k->n->in[5] != NONE), slope };
}

static int reference(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_reference(k, a, eps_of(k), act_of(k));
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_cpu(k, a, eps_of(k), act_of(k));
}

static int grad_reference(const struct kplan *k, const struct kargs *a)
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

static int grad_cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_grad_cpu(k, a, eps_of(k));
}

#ifdef HAVE_CUDA
static int cuda(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_cuda(k, a, eps_of(k), act_of(k));
}

static int grad_cuda(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_grad_cuda(k, a, eps_of(k));
}
#endif

/* --- samples --- */

static const char *const inference_samples[] = {
	"2x3x5x7 3 3 3 3:positive", "1x17x3x3x5 17 17 17 17:positive; eps: 0.01",
	"4x5 5 5 5 5:positive", "1x48x21x23 48 48 48 48:positive", "2x3x5x7 3 3 3 3:positive; slope: 0",
	"1x17x3x3x5 17 17 17 17:positive; eps: 0.01, slope: 0.3", "4x5 5 5 5 5:positive; slope: 0",
	"2x3x5x7 3 3 3 3:positive 2x3x5x7; slope: 0", "4x5 5 5 5 5:positive 4x5",
	"1x48x21x23 48 48 48 48:positive 1x48x21x23; slope: 0", NULL
};
static const char *const grad_samples[] = {
	"2x3x5x7 2x3x5x7 3 3 3:positive", "1x48x21x23 1x48x21x23 48 48 48:positive; eps: 0.01", NULL
};
static const char *const apply_samples[] = {
	"2x3x5x7 3 3 3 3:positive", "1x17x3x3x5 17 17 17 17:positive", "4x5 5 5 5 5:positive",
	"2x48x21x23 48 48 48 48:positive",
	"2x3x5x7 3 3 3 3:positive; slope: 0", "1x17x3x3x5 17 17 17 17:positive; slope: 0.3",
	"4x5 5 5 5 5:positive; slope: 0", "2x3x5x7 3 3 3 3:positive 2x3x5x7; slope: 0",
	"2x48x21x23 48 48 48 48:positive 2x48x21x23; slope: 0.3", "4x5 5 5 5 5:positive 4x5", NULL
};

static const char *const signs_samples[] = {
	"2x8x5x7 8 8 8 8:positive 2x8x5x7; slope: 0", "4x24 24 24 24 24:positive 4x24; slope: 0.3",
	"2x48x21x23 48:positive 48 48 48:positive 2x48x21x23; slope: 0",
	"1x40x3x3x5 40 40 40 40:positive; slope: 0", NULL
};

/* --- records --- */

static const struct op op_batch_norm_inference = {
	.name = "batch_norm_inference",
	.doc = "normalises each channel by the running mean and variance; may add and activate",
	.min_in = 5, .max_in = 6, .nout = 1,
	.attr_size = sizeof(struct norm_attr), .attrs = inference_fields,
	.nondiff = 1u << 3 | 1u << 4, .inplace = X | RESIDUAL,
	.shape = shape, .grad = inference_grad, .reads = reads_point, .cost = norm_inference_cost,
	NORM_KERNELS(, NULL, X | RESIDUAL, X),
	.samples = inference_samples,
};

static const struct op op_batch_norm_inference_grad = {
	.name = "batch_norm_inference_grad",
	.doc = "gradients of batch_norm_inference for x, gamma and beta",
	.flags = OP_ONCE,
	.min_in = 5, .max_in = 5, .nout = 3,
	.attr_size = sizeof(struct norm_attr), .attrs = grad_fields,
	.inplace = X | DY,
	.shape = grad_shape, .cost = norm_cost,
	NORM_KERNELS(grad_, NULL, X | DY, X),
	.samples = grad_samples,
};

static const struct op op_batch_norm_apply = {
	.name = "batch_norm_apply",
	.doc = "batch_norm by a mean and 1 / deviation that are there",
	.flags = OP_NOGRAD,
	.min_in = 5, .max_in = 6, .nout = 1,
	.attr_size = sizeof(struct norm_attr), .attrs = apply_fields,
	.inplace = X | RESIDUAL,
	.shape = shape, .reads = reads_point, .cost = norm_inference_cost,
	NORM_KERNELS(, NULL, X | RESIDUAL, X),
	.samples = apply_samples,
};

static const struct op op_batch_norm_apply_signs = {
	.name = "batch_norm_apply_signs",
	.doc = "batch_norm_apply that also gives the signs of its result, as bits",
	.flags = OP_NOGRAD,
	.min_in = 5, .max_in = 6, .nout = 2,
	.attr_size = sizeof(struct norm_attr), .attrs = apply_fields,
	.inplace = X | RESIDUAL,
	.shape = signs_shape, .reads = reads_point, .cost = norm_inference_cost,
	NORM_GPU_KERNELS(, NULL, X | RESIDUAL, X),
	.samples = signs_samples,
};

OPSET(batch_norm_apply, &op_batch_norm_inference, &op_batch_norm_inference_grad,
      &op_batch_norm_apply, &op_batch_norm_apply_signs);
