/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions with an epilogue, computed by one kernel if the GPU's library has one (made by the
 * pass `fuse`, after gradients):
 *
 *   conv_relu        y = f(c + r)             c = x * w + bias; f(z) = z, and slope * z where z is
 *                    negative
 *   conv_add         y = c + r
 *   conv_norm        y = norm(c)              norm(c) = (c - mean) / sqrt(variance + eps) * gamma +
 *                    beta
 *   conv_norm_relu   y = f(norm(c) + r)
 *   conv_grad_input_sum    dx = c + r         c: conv_grad_input of dy and w
 *   conv_grad_input_relu   dx = (c + r), times the slope where z, ReLU's result, is not
 *                          above zero
 *
 * r may be absent, except in the sums. Intermediate results are not stored. */
#include "op/conv/conv_fused.h"

#include <math.h>

#include "base/err.h"
#include "op/conv/conv_reference.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"

#define SLOPE FIELD_FLOAT(struct conv_fused, slope, "0", 0, 1e6, "factor for negative values")
#define EPS FIELD_FLOAT(struct conv_fused, eps, "1e-5", 1e-12, 1, \
	"added to the variance before the root")

/* The field has a default, since the pass first creates the node with default attributes. */
#define INPUT_SIZE FIELD_INTS(struct conv_attr, input_size, "1", 1, INT32_MAX, \
	"spatial size of the result")

static const struct field relu_fields[] = { CONV_FIELDS, SLOPE, FIELD_END };
static const struct field add_fields[] = { CONV_FIELDS, FIELD_END };
static const struct field norm_fields[] = { CONV_FIELDS, EPS, FIELD_END };
static const struct field norm_relu_fields[] = { CONV_FIELDS, EPS, SLOPE, FIELD_END };
static const struct field sum_fields[] = { CONV_FIELDS, INPUT_SIZE, FIELD_END };
static const struct field mask_fields[] = { CONV_FIELDS, INPUT_SIZE, SLOPE, FIELD_END };

static const struct conv_places relu_places = { .kind = CONV_FORWARD, .addend = 3, .relu = true };
static const struct conv_places add_places = { .kind = CONV_FORWARD, .addend = 3 };
static const struct conv_places norm_places = { .kind = CONV_FORWARD, .gamma = 3, .beta = 4,
	.mean = 5, .variance = 6 };
static const struct conv_places norm_relu_places = { .kind = CONV_FORWARD, .gamma = 3, .beta = 4,
	.mean = 5, .variance = 6,
	.addend = 7, .relu = true };
static const struct conv_places sum_places = { .kind = CONV_BACKWARD_DATA, .addend = 3 };
static const struct conv_places mask_places = { .kind = CONV_BACKWARD_DATA, .addend = 3,
	.mask = 4 };

/* --- shape --- */

static int check_there(struct graph *g, const struct node *n, int i)
{
	return conv_fused_input(n, i) != NONE ? 0 : ERR(E_SHAPE, &g->cur_loc, "'%s' has no input %d",
	                                                n->op->name, i);
}

/* Checks an input that has the result's shape. */
static int check_like(struct graph *g, struct node *n, int i, bool needed)
{
	if (needed)
		TRY(check_there(g, n, i));
	return conv_fused_input(n, i) == NONE ? 0 : check_shape(g, n, i, node_out_shape(g, n, 0));
}

static int check_channels(struct graph *g, struct node *n, int i)
{
	TRY(check_there(g, n, i));
	return check_vector(g, n, i, node_out_shape(g, n, 0)->d[1]);
}

static int shape(struct graph *g, struct node *n, const struct conv_places *at)
{
	TRY(conv_shape_rule(g, n, at->kind));
	const int vector[] = { at->gamma, at->beta, at->mean, at->variance };
	for (int i = 0; i < 4; i++)
		if (vector[i])
			TRY(check_channels(g, n, vector[i]));
	if (at->addend)
		TRY(check_like(g, n, at->addend, !at->relu && !at->mask));
	return at->mask ? check_like(g, n, at->mask, true) : 0;
}

static int relu_shape(struct graph *g, struct node *n) { return shape(g, n, &relu_places); }
static int add_shape(struct graph *g, struct node *n) { return shape(g, n, &add_places); }
static int norm_shape_of(struct graph *g, struct node *n) { return shape(g, n, &norm_places); }

static int norm_relu_shape(struct graph *g, struct node *n)
{
	return shape(g, n, &norm_relu_places);
}

static int sum_shape(struct graph *g, struct node *n) { return shape(g, n, &sum_places); }
static int mask_shape(struct graph *g, struct node *n) { return shape(g, n, &mask_places); }

/* --- cost --- */

static void forward_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	conv_count_flops(g, n, CONV_FORWARD, c);
}

static void grad_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	conv_count_flops(g, n, CONV_BACKWARD_DATA, c);
}

/* --- reference kernels --- */

static const double *values(const struct kplan *k, const struct kargs *a, int i)
{
	return conv_fused_input(k->n, i) == NONE ? NULL : a->in[i];
}

static double normalised(const struct kplan *k, const struct kargs *a, const struct conv_places *at,
                         double v, int64_t c)
{
	const double *gamma = a->in[at->gamma], *beta = a->in[at->beta], *mean = a->in[at->mean],
	             *variance = a->in[at->variance];
	const struct conv_fused *attr = k->n->attr;
	return (v - mean[c]) / sqrt(variance[c] + attr->eps) * gamma[c] + beta[c];
}

static int reference(const struct kplan *k, const struct kargs *a, const struct conv_places *at)
{
	const struct shape *s = node_out_shape(k->g, k->n, 0);
	const double *addend = values(k, a, at->addend), *mask = values(k, a, at->mask);
	const double slope = at->relu || mask ? ((const struct conv_fused *)k->n->attr)->slope : 1;
	const int64_t n = shape_count(s), size = n / (s->d[0] * s->d[1]);
	double *y = a->out[0];
	TRY(at->kind == CONV_FORWARD ? conv_reference(k, a) : conv_grad_input_reference(k, a));
	for (int64_t i = 0; i < n; i++) {
		double v = at->gamma ? normalised(k, a, at, y[i], i / size % s->d[1]) : y[i];
		v += addend ? addend[i] : 0;
		y[i] = (mask ? mask[i] > 0 : v >= 0) ? v : slope * v;
	}
	return 0;
}

static int relu_reference(const struct kplan *k, const struct kargs *a)
{
	return reference(k, a, &relu_places);
}

static int add_reference(const struct kplan *k, const struct kargs *a)
{
	return reference(k, a, &add_places);
}

static int norm_reference(const struct kplan *k, const struct kargs *a)
{
	return reference(k, a, &norm_places);
}

static int norm_relu_reference(const struct kplan *k, const struct kargs *a)
{
	return reference(k, a, &norm_relu_places);
}

static int sum_reference(const struct kplan *k, const struct kargs *a)
{
	return reference(k, a, &sum_places);
}

static int mask_reference(const struct kplan *k, const struct kargs *a)
{
	return reference(k, a, &mask_places);
}

/* --- cuda kernels (conv_fused_cuda.c) --- */

#ifdef HAVE_CUDA
static int relu_cuda_plan(struct kplan *k) { return conv_fused_cuda_plan(k, &relu_places); }
static int add_cuda_plan(struct kplan *k) { return conv_fused_cuda_plan(k, &add_places); }
static int norm_cuda_plan_of(struct kplan *k) { return conv_fused_cuda_plan(k, &norm_places); }

static int norm_relu_cuda_plan(struct kplan *k)
{
	return conv_fused_cuda_plan(k, &norm_relu_places);
}

static int sum_cuda_plan(struct kplan *k) { return conv_fused_cuda_plan(k, &sum_places); }
static int mask_cuda_plan(struct kplan *k) { return conv_fused_cuda_plan(k, &mask_places); }
#endif

/* --- samples --- */

static const char *const relu_samples[] = {
	"2x3x5x6 5x3x3x3! 5!",
	"2x3x7x6 5x3x3x3! 5! 2x5x4x3; stride: 2, pad_lo: 1, pad_hi: 1, slope: 0.25",
	"1x16x4x3 48x16x1x1!",
	"2x16x4x5 16x1x3x3! 16! 2x16x4x5; groups: 16, pad_lo: 1, pad_hi: 1",
	"1x3x4x3x5 8x3x3x2x3! - 1x8x4x4x5; pad_lo: 1, pad_hi: 1, slope: 0.5",
	"1x5x7 16x5x3! 16! ; stride: 2, pad_lo: 1, pad_hi: 1",
	"1x24x6x7 32x24x3x3! 32! 1x32x6x7; pad_lo: 1, pad_hi: 1, slope: 0.5",
	"1x16x5x19 16x16x5x5! - ; pad_lo: 2, pad_hi: 2",
	NULL
};
static const char *const add_samples[] = {
	"2x3x5x6 5x3x3x3! 5! 2x5x3x4", "1x16x4x3 48x16x1x1! - 1x48x4x3",
	"2x16x4x5 16x1x3x3! - 2x16x4x5; groups: 16, pad_lo: 1, pad_hi: 1",
	"1x16x5x6 16x16x3x3! - 1x16x5x6; pad_lo: 1, pad_hi: 1",
	"1x16x5x6 16x16x3x3! - 1x16x5x6; dilation: 3, pad_lo: 3, pad_hi: 3", NULL
};
static const char *const norm_samples[] = {
	"2x3x5x6 5x3x3x3! 5! 5 5 5 5:positive", "1x16x4x3 48x16x1x1! - 48 48 48 48:positive; eps: 0.01",
	"2x16x4x5 16x1x3x3! - 16 16 16 16:positive; groups: 16, pad_lo: 1, pad_hi: 1",
	"1x16x5x6 24x16x3x3! 24! 24 24 24 24:positive; pad_lo: 1, pad_hi: 1", NULL
};
static const char *const norm_relu_samples[] = {
	"2x3x5x6 5x3x3x3! 5! 5 5 5 5:positive",
	"2x3x7x6 5x3x3x3! - 5 5 5 5:positive 2x5x4x3; stride: 2, pad_lo: 1, pad_hi: 1, slope: 0.25",
	"1x16x4x3 48x16x1x1! - 48 48 48 48:positive 1x48x4x3; eps: 0.01",
	"2x16x4x5 16x1x3x3! - 16 16 16 16:positive 2x16x4x5; groups: 16, pad_lo: 1, pad_hi: 1",
	"1x3x4x3x5 8x3x3x2x3! 8! 8 8 8 8:positive; pad_lo: 1, pad_hi: 1",
	"1x16x4x6 16x16x3x3! - 16 16 16 16:positive 1x16x4x6; pad_lo: 1, pad_hi: 1", NULL
};
static const char *const sum_samples[] = {
	"2x5x3x4 5x3x3x3! - 2x3x5x6; input_size: [5, 6]",
	"1x48x4x3 48x16x1x1! - 1x16x4x3; input_size: [4, 3]",
	"2x5x4x3 5x8x3x3! 8! 2x8x7x6; stride: 2, pad_lo: 1, pad_hi: 1, input_size: [7, 6]",
	"2x16x4x5 16x1x3x3! - 2x16x4x5; groups: 16, pad_lo: 1, pad_hi: 1, input_size: [4, 5]",
	"1x32x9x34 32x40x5x5! - 1x40x9x34; pad_lo: 2, pad_hi: 2, input_size: [9, 34]",
	"1x16x5x6 16x8x3x3! - 1x8x5x6; dilation: 3, pad_lo: 3, pad_hi: 3, input_size: [5, 6]", NULL
};
static const char *const mask_samples[] = {
	"2x5x3x4 5x3x3x3! - 2x3x5x6 2x3x5x6:away; input_size: [5, 6], slope: 0.25",
	"1x48x4x3 48x16x1x1! - 1x16x4x3 1x16x4x3:away; input_size: [4, 3]",
	"1x48x4x3 48x16x1x1! - - 1x16x4x3:zero; input_size: [4, 3]",
	"2x5x4x3 5x8x3x3! - - 2x8x7x6:away; stride: 2, pad_lo: 1, pad_hi: 1, "
	"input_size: [7, 6], slope: 0.5",
	"1x24x7x9 24x48x3x3! - 1x48x7x9 1x48x7x9:away; pad_lo: 1, pad_hi: 1, input_size: [7, 9], "
	"slope: 0.25",
	"1x16x3x6x5 16x32x3x3x3! - - 1x32x3x6x5:away; pad_lo: 1, pad_hi: 1, input_size: [3, 6, 5]",
	NULL
};

/* --- records --- */

/* f: mask of the inputs that have the result's shape; to: the one that the result may overwrite. */
#define FUSED_CUDA(plan_, f, to)                                                        \
	CUDA_KERNEL(.layouts = KL_NATIVE, .plan = plan_, .run = conv_fused_cuda_run,        \
	            .free = conv_fused_cuda_free,                                           \
	            .slice_in = 1 | (f), .slice_out = 1, .sums_into = (to),                 \
	            .bf16_in = 3 | (f), .bf16_out = 1, .bf16 = KB_FASTER)

#define RECORD(id, text, most, size, fields_, shape_, cost_, reference_, f, to, plan_, samples_)   \
	static const struct op op_##id = {                                                             \
		.name = #id, .doc = text, .flags = OP_ONCE | OP_COUNTED,                                   \
		.min_in = 2, .max_in = most, .nout = 1, .attr_size = size, .attrs = fields_,               \
		.shape = shape_, .cost = cost_,                                                            \
		.kernel = {                                                                                \
			[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = reference_ },                      \
			FUSED_CUDA(plan_, f, to)                                                               \
		},                                                                                         \
		.samples = samples_,                                                                       \
	}

RECORD(conv_relu, "conv, perhaps plus the fourth input, then relu or leaky_relu", 4,
       sizeof(struct conv_fused), relu_fields, relu_shape, forward_cost, relu_reference, 1u << 3, 0,
       relu_cuda_plan, relu_samples);
RECORD(conv_add, "conv plus the fourth input", 4, sizeof(struct conv_attr), add_fields, add_shape,
       forward_cost, add_reference, 1u << 3, 0, add_cuda_plan, add_samples);
RECORD(conv_norm, "conv, then batch_norm_inference by gamma, beta, mean and variance", 7,
       sizeof(struct conv_fused), norm_fields, norm_shape_of, forward_cost, norm_reference, 0, 0,
       norm_cuda_plan_of, norm_samples);
RECORD(conv_norm_relu, "conv_norm, perhaps plus the eighth input, then relu or leaky_relu", 8,
       sizeof(struct conv_fused), norm_relu_fields, norm_relu_shape, forward_cost,
       norm_relu_reference, 1u << 7, 0, norm_relu_cuda_plan, norm_relu_samples);
RECORD(conv_grad_input_sum, "conv_grad_input plus the fourth input", 4, sizeof(struct conv_attr),
       sum_fields, sum_shape, grad_cost, sum_reference, 1u << 3, 1u << 3, sum_cuda_plan,
       sum_samples);
RECORD(conv_grad_input_relu,
       "conv_grad_input, perhaps plus the fourth input, through the relu that made the fifth", 5,
       sizeof(struct conv_fused), mask_fields, mask_shape, grad_cost, mask_reference, 3u << 3,
       1u << 3, mask_cuda_plan, mask_samples);

OPSET(conv_fused, &op_conv_relu, &op_conv_add, &op_conv_norm, &op_conv_norm_relu,
      &op_conv_grad_input_sum, &op_conv_grad_input_relu);
