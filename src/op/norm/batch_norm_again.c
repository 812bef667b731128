/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation once more, from the mean and 1 / deviation that it gave the first time: one
 * pass over x instead of two, the same bits as then. The pass `recompute` puts these in where the
 * result is not kept for the backward part; running statistics are not touched a second time. The
 * pass `parts` has them normalise by statistics that other nodes have taken (batch_norm_parts.c).
 * With f as in batch_norm_relu.c:
 *
 *   batch_norm_again        y = (x - mean) * rstd * gamma + beta
 *   batch_norm_relu_again   y = f(that [+ residual]) */
#include "op/lib/cuda.h"
#include "op/norm/norm.h"

struct again {
	double slope;
};

static const struct field fields[] = {
	FIELD_FLOAT(struct again, slope, "0", 0, 1e6, "factor for negative values"),
	FIELD_END
};

enum { X = 1, RESIDUAL = 1 << 5 };           /* which inputs and outputs are of x's shape */

static int shape(struct graph *g, struct node *n)
{
	return norm_shape(g, n, X | RESIDUAL, X);
}

/* --- kernels --- */

static const struct norm_act linear;

static struct norm_act act_of(const struct kplan *k)
{
	return (struct norm_act){ true, ((const struct again *)k->n->attr)->slope };
}

static int reference(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_reference(k, a, NORM_AGAIN, linear);
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_cpu(k, a, NORM_AGAIN, linear);
}

static int relu_reference(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_reference(k, a, NORM_AGAIN, act_of(k));
}

static int relu_cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_cpu(k, a, NORM_AGAIN, act_of(k));
}

#ifdef HAVE_CUDA
static int cuda(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_cuda(k, a, NORM_AGAIN, linear);
}

static int relu_cuda(const struct kplan *k, const struct kargs *a)
{
	return norm_inference_cuda(k, a, NORM_AGAIN, act_of(k));
}
#endif

/* --- samples --- */

static const char *const samples[] = {
	"2x3x5x7 3 3 3 3:positive", "1x17x3x3x5 17 17 17 17:positive", "4x5 5 5 5 5:positive",
	"2x48x21x23 48 48 48 48:positive", NULL
};
static const char *const relu_samples[] = {
	"2x3x5x7 3 3 3 3:positive", "1x17x3x3x5 17 17 17 17:positive; slope: 0.3",
	"4x5 5 5 5 5:positive", "2x3x5x7 3 3 3 3:positive 2x3x5x7",
	"2x48x21x23 48 48 48 48:positive 2x48x21x23; slope: 0.3", NULL
};

/* --- records --- */

#define KERNELS(id, in)                                                                   \
	.kernel = {                                                                       \
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = id##reference },      \
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = id##cpu, \
		                  .slice_in = in, .slice_out = X,                         \
		                  .bf16_in = in, .bf16_out = X, .bf16 = KB_ALIKE },       \
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = norm_cuda_plan, .run = id##cuda, \
		            .slice_in = in, .slice_out = X,                               \
		            .bf16_in = in, .bf16_out = X, .bf16 = KB_ALIKE)               \
	}

static const struct op op_batch_norm_again = {
	.name = "batch_norm_again",
	.doc = "batch_norm once more, by the mean and 1 / deviation it gave",
	.flags = OP_NOGRAD,
	.min_in = 5, .max_in = 5, .nout = 1,
	.inplace = X,
	.shape = shape, .cost = norm_inference_cost,
	KERNELS(, X),
	.samples = samples,
};

static const struct op op_batch_norm_relu_again = {
	.name = "batch_norm_relu_again",
	.doc = "batch_norm_relu once more, by the mean and 1 / deviation it gave",
	.flags = OP_NOGRAD,
	.min_in = 5, .max_in = 6, .nout = 1,
	.attr_size = sizeof(struct again), .attrs = fields,
	.inplace = X | RESIDUAL,
	.shape = shape, .cost = norm_inference_cost,
	KERNELS(relu_, X | RESIDUAL),
	.samples = relu_samples,
};

OPSET(batch_norm_again, &op_batch_norm_again, &op_batch_norm_relu_again);
