/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation of joined channels, taken apart so that what belongs to a part of them is done
 * once for all that normalise it (made by the pass `parts`). A channel's statistics do not depend on
 * who normalises it:
 *
 *   batch_norm_statistics   mean, rstd = 1 / sqrt(variance + eps), variance of a part; with those of
 *                           all parts side by side, batch_norm_again and batch_norm_relu_again normalise */
#include "op/check.h"
#include "op/norm.h"

struct statistics {
	double eps;
};

static const struct field fields[] = {
	FIELD_FLOAT(struct statistics, eps, "1e-5", 1e-12, 1, "added to the variance before the root"),
	FIELD_END
};

enum { X = 1 };                              /* which inputs are of x's shape */

/* --- shape --- */

static int statistics_shape(struct graph *g, struct node *n)
{
	return norm_shape(g, n, X, 0);
}

/* --- cost --- */

static void statistics_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = 4.0 * (double)shape_count(node_in_shape(g, n, 0));
}

/* --- kernels --- */

static double eps_of(const struct kplan *k)
{
	return ((const struct statistics *)k->n->attr)->eps;
}

static int statistics_reference(const struct kplan *k, const struct kargs *a)
{
	return norm_statistics_reference(k, a, eps_of(k));
}

static int statistics_cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_statistics_cpu(k, a, eps_of(k));
}

/* --- samples --- */

static const char *const statistics_samples[] = {
	"2x3x5x7", "1x17x3x3x5; eps: 0.01", "7x5", "2x48x21x23", NULL
};

/* --- records --- */

static const struct op op_statistics = {
	.name = "batch_norm_statistics",
	.doc = "mean, 1 / deviation and variance of each channel, which batch_norm_again normalises by",
	.flags = OP_NOGRAD,
	.min_in = 1, .max_in = 1, .nout = 3,
	.attr_size = sizeof(struct statistics), .attrs = fields,
	.shape = statistics_shape, .cost = statistics_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = statistics_reference },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = statistics_cpu,
		                  .slice_in = X, .bf16_in = X, .bf16 = KB_ALIKE }
	},
	.samples = statistics_samples,
};

OPSET(batch_norm_parts, &op_statistics);
