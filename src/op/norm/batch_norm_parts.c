/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation of concatenated channels, split so that the work for a piece is done once for
 * all norms that read it (made by the pass `piece_statistics`). A channel's statistics do not
 * depend on the norm that reads it:
 *
 *   batch_norm_statistics   mean, rstd = 1 / sqrt(variance + eps), variance of a part; with those
 *                           of all parts side by side, batch_norm_apply normalises
 *
 * The gradient of x is dz gamma rstd - ((x - mean) k2 + k1) with k1 and k2 from sums over the batch
 * (batch_norm.c). The gradient through the statistics has the same form for all norms that read x,
 * so it can be subtracted once, from the sum of all gradients. The other term needs no sums, so it
 * is computed in the same loop as the sums:
 *
 *   batch_norm_grad_given   dz gamma rstd [+ addend], dgamma, dbeta, k1, k2
 *   batch_norm_grad_through      from x, the sum of those, mean, and k1 and k2 of each: the
 *                                gradient of x; `begin` says which channel of each k1 and k2 is x's
 *                                first */
#include <limits.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/norm/norm.h"

static const struct field fields[] = { NORM_EPS, FIELD_END };
static const struct field given_fields[] = { NORM_SLOPE, FIELD_END };
static const struct field through_fields[] = {
	FIELD_INTS(struct norm_through_attr, begin, "[0]", 0, INT32_MAX,
	           "channel of each k1 and k2 that is the first"),
	FIELD_END
};

/* Bits for the inputs of x's shape. */
enum { X = 1, DY = 2, ADDEND = 1 << 6, OPEN = 2 };
enum { FIRST_PAIR = 3 };                     /* input: k1, k2, k1, k2, ... */

/* --- shape --- */

static int statistics_shape(struct graph *g, struct node *n)
{
	return norm_shape(g, n, X, 0, 3);
}

static int given_shape(struct graph *g, struct node *n)
{
	return norm_shape(g, n, X | DY | ADDEND, X, 5);
}

/* Checks a vector of a pair, which may have more channels than x. */
static int check_pair(struct graph *g, const struct node *n, int i, int64_t begin)
{
	const struct shape *v = node_in_shape(g, n, i);
	const int64_t c = node_in_shape(g, n, 0)->d[1];
	TRY(check_dtype(g, n, i, DTYPE_F32));
	if (v->nd == 1 && begin + c <= v->d[0])
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "layer '%s': input %d of '%s' must have channels %lld to %lld",
	           check_layer(n), i, n->op->name, (long long)begin, (long long)(begin + c - 1));
}

static int through_shape(struct graph *g, struct node *n)
{
	const struct norm_through_attr *at = n->attr;
	TRY(check_float(g, n, 0));
	TRY(check_rank(g, n, 0, 2, 5));
	TRY(check_float(g, n, 1));
	TRY(check_equal(g, n, 0, 1));
	TRY(check_dtype(g, n, 2, DTYPE_F32));
	TRY(check_vector(g, n, 2, node_in_shape(g, n, 0)->d[1]));
	if (n->nin != FIRST_PAIR + 2 * at->begin.n)
		return ERR(E_SHAPE, &g->cur_loc, "layer '%s': '%s' must have two inputs for each 'begin'",
		           check_layer(n), n->op->name);
	for (int i = FIRST_PAIR; i < n->nin; i++)
		TRY(check_pair(g, n, i, at->begin.v[(i - FIRST_PAIR) / 2]));
	struct shape x = *node_in_shape(g, n, 0);
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &x);
}

/* --- cost --- */

static void statistics_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = 4.0 * (double)shape_count(node_in_shape(g, n, 0));
}

/* --- kernels --- */

static double eps_of(const struct kplan *k)
{
	return ((const struct norm_attr *)k->n->attr)->eps;
}

static int statistics_reference(const struct kplan *k, const struct kargs *a)
{
	return norm_statistics_reference(k, a, eps_of(k));
}

static int statistics_cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_statistics_cpu(k, a, eps_of(k));
}

static struct norm_grad places(const struct kplan *k)
{
	const double slope = ((const struct norm_attr *)k->n->attr)->slope;
	const struct norm_act f = { slope != 1, slope };
	return (struct norm_grad){
		.x = 0, .dy = 1, .gamma = 2, .mean = 3, .rstd = 4, .beta = 5, .addend = 6,
		.y = -1, .second = -1, .masked = -1, .f = f,
	};
}

static int given_reference(const struct kplan *k, const struct kargs *a)
{
	struct norm_grad at = places(k);
	return norm_grad_given_reference(k, a, &at);
}

static int given_cpu(const struct kplan *k, const struct kargs *a)
{
	struct norm_grad at = places(k);
	return norm_grad_given_cpu(k, a, &at);
}

static int through_reference(const struct kplan *k, const struct kargs *a)
{
	return norm_grad_through_reference(k, a,
	                                   ((const struct norm_through_attr *)k->n->attr)->begin.v);
}

static int through_cpu(const struct kplan *k, const struct kargs *a)
{
	return norm_grad_through_cpu(k, a, ((const struct norm_through_attr *)k->n->attr)->begin.v);
}

/* --- samples --- */

static const char *const statistics_samples[] = {
	"2x3x5x7", "1x17x3x3x5; eps: 0.01", "7x5", "2x48x21x23", NULL
};

static const char *const given_samples[] = {
	"2x3x5x7 2x3x5x7 3 3 3:positive 3; slope: 0",
	"2x17x3x3x5 2x17x3x3x5 17 17 17:positive 17; slope: 0.3",
	"9x5 9x5 5 5 5:positive 5 9x5; slope: 0",
	"2x48x21x23 2x48x21x23 48 48 48:positive 48 2x48x21x23; slope: 0", NULL
};
static const char *const through_samples[] = {
	"2x3x5x7 2x3x5x7 3 3 3", "1x17x3x3x5 1x17x3x3x5 17 17 17 20 20; begin: [0, 3]",
	"9x5 9x5 5 8 8 5 5 6 6; begin: [2, 0, 1]",
	"2x48x21x23 2x48x21x23 48 64 64 48 48; begin: [16, 0]", NULL
};

/* --- records --- */

static const struct op op_statistics = {
	.name = "batch_norm_statistics",
	.doc = "mean, 1 / deviation and variance of each channel, which batch_norm_apply normalises by",
	.flags = OP_NOGRAD,
	.min_in = 1, .max_in = 1, .nout = 3,
	.attr_size = sizeof(struct norm_attr), .attrs = fields,
	.shape = statistics_shape, .cost = statistics_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = statistics_reference },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = statistics_cpu,
		                  .slice_in = X, .bf16_in = X, .bf16 = KB_ALIKE }
	},
	.samples = statistics_samples,
};

static const struct op op_given = {
	.name = "batch_norm_grad_given",
	.doc = "batch_norm_grad without what goes through the statistics, and that "
	       "as two numbers a channel",
	.flags = OP_ONCE,
	.min_in = 6, .max_in = 7, .nout = 5,
	.attr_size = sizeof(struct norm_attr), .attrs = given_fields,
	.inplace = X | DY | ADDEND,
	.shape = given_shape, .cost = norm_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = given_reference },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = given_cpu,
		                  .slice_in = X | DY | ADDEND, .slice_out = X,
		                  .bf16_in = X | DY | ADDEND, .bf16_out = X, .bf16 = KB_ALIKE }
	},
	.samples = given_samples,
};

static const struct op op_through = {
	.name = "batch_norm_grad_through",
	.doc = "subtracts what goes through the statistics from gradients made with them as given",
	.flags = OP_ONCE,
	.min_in = 5, .max_in = INT_MAX, .nout = 1,
	.attr_size = sizeof(struct norm_through_attr), .attrs = through_fields,
	.inplace = X | OPEN,
	.shape = through_shape, .cost = norm_inference_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = through_reference },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = through_cpu,
		                  .slice_in = X | OPEN, .slice_out = X,
		                  .bf16_in = X | OPEN, .bf16_out = X, .bf16 = KB_ALIKE }
	},
	.samples = through_samples,
};

OPSET(batch_norm_parts, &op_statistics, &op_given, &op_through);
