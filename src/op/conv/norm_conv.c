/* SPDX-License-Identifier: BSD-3-Clause
 *
 * y = z * w with z = f(norm(x)), norm(x) = (x - mean) rstd gamma + beta, f(v) = v above zero and
 * slope * v below, and its gradient to w, where z is not stored (made by the pass `prologue`, for
 * GPUs; conv_norm_grad.c has the gradient to x):
 *
 *   norm_conv               y = conv of z and w
 *   norm_conv_grad_weight   dw = conv_grad_weight of z and dy
 *
 * Each is one kernel if dlx's kernels support it (depthwise convolutions, which read x and
 * normalise it) or if cuDNN recommends an engine for all of it, unless separate kernels are
 * measured to be faster (conv_way.h). Separate kernels store z in the workspace. */
#include "base/err.h"
#include "op/conv/conv.h"
#include "op/conv/conv_cuda.h"
#include "op/conv/conv_shape.h"
#include "op/conv/conv_normed.h"
#include "op/conv/conv_own.h"
#include "op/conv/conv_reference.h"
#include "op/conv/conv_way.h"
#include "op/lib/cuda.h"

static const struct field fields[] = { CONV_FIELDS, NORMED_SLOPE, FIELD_END };
static const struct field weight_fields[] = {
	CONV_FIELDS, FIELD_INTS(struct conv_attr, kernel, "1", 1, INT32_MAX,
	                        "spatial size of the weights"), NORMED_SLOPE, FIELD_END
};

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	TRY(conv_shape_rule(g, n, CONV_FORWARD));
	return conv_normed_shape(g, n, 0, NORMED_GAMMA);
}

static int weight_shape(struct graph *g, struct node *n)
{
	TRY(conv_shape_rule(g, n, CONV_BACKWARD_WEIGHTS));
	return conv_normed_shape(g, n, 0, NORMED_GAMMA);
}

/* --- cost --- */

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	conv_count_flops(g, n, CONV_FORWARD, c);
}

static void weight_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	conv_count_flops(g, n, CONV_BACKWARD_WEIGHTS, c);
}

/* --- reference kernels --- */

static int reference(const struct kplan *k, const struct kargs *a)
{
	void *in[] = { (void *)(uintptr_t)conv_normed_reference(k, a), a->in[1], NULL };
	const struct kargs of_z = { in, a->out, NULL };
	return conv_reference(k, &of_z);
}

static int weight_reference(const struct kplan *k, const struct kargs *a)
{
	void *in[] = { (void *)(uintptr_t)conv_normed_reference(k, a), a->in[1] };
	const struct kargs of_z = { in, a->out, NULL };
	return conv_grad_weight_reference(k, &of_z);
}

/* --- cuda kernel --- */

#ifdef HAVE_CUDA

/* kind_: points to an enum conv_kind, forward or to the weights. */
static int plan_way(struct kplan *k, enum conv_way way, const void *kind_)
{
	const enum conv_kind kind = *(const enum conv_kind *)kind_;
	struct conv_normed_cuda *s = k->state = ARENA_NEW(k->arena, struct conv_normed_cuda);
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *in = graph_t(k->g, k->n->in[1]),
	                    *out = graph_t(k->g, k->n->out[0]);
	const bool weights = kind == CONV_BACKWARD_WEIGHTS;
	const struct layout from = layout_native(&x->shape);
	struct cudnn_conv c = { .kind = kind, .geom = conv_geom_get(k->g, k->n, kind), .x = &from,
		.w = weights ? &out->layout : &in->layout, .y = weights ? &in->layout : &out->layout };
	TRY(conv_normed_cuda_plan(k, s, way, &c, x));
	size_t end = 0;
	conv_own_reserve(&end, s->own ? s->own_ws : cudnn_plan_workspace(s->plan));
	s->vectors = s->own ? NOWHERE : conv_own_reserve(&end, 2 * conv_normed_cuda_room(k));
	s->room = s->whole || s->own ? NOWHERE :
	          conv_own_reserve(&end, conv_normed_cuda_dense(s, &x->shape));
	s->made = out->dtype == s->type || s->own ? NOWHERE :
	          conv_own_reserve(&end, conv_normed_cuda_dense(s, &out->shape));
	k->ws_bytes = end;
	conv_normed_cuda_name(k, ", after a kernel");
	return 0;
}

static int run_own(const struct kplan *k, const struct kargs *a, bool weights)
{
	const struct conv_normed_cuda *s = k->state;
	const struct conv_normed_args all = {
		.x = a->in[0], .w = weights ? a->out[0] : a->in[1], .y = weights ? a->in[1] : a->out[0],
		.ws = a->ws, .gamma = a->in[NORMED_GAMMA], .beta = a->in[NORMED_BETA],
		.mean = a->in[NORMED_MEAN], .rstd = a->in[NORMED_RSTD],
		.slope = conv_normed_slope(k->n) };
	return conv_depthwise_run_normed(k, s->own, &all);
}

static int run_kind(const struct kplan *k, const struct kargs *a, bool weights)
{
	const struct conv_normed_cuda *s = k->state;
	if (s->own)
		return run_own(k, a, weights);
	char *ws = a->ws;
	void *scale = ws + s->vectors, *shift = ws + s->vectors + conv_normed_cuda_room(k);
	void *made = s->made == NOWHERE ? a->out[0] : ws + s->made,
	     *z = s->whole ? a->in[0] : ws + s->room;
	if (s->whole)
		TRY(conv_normed_cuda_vectors(k, a, weights ? s->type : DTYPE_F32, scale, shift));
	else
		TRY(conv_normed_cuda_apply(k, a, z, scale));
	void *const whole[] = { a->in[0], a->in[1], scale, shift, made },
	*const plain[] = { z, a->in[1], made };
	TRYC(cudnn_plan_run(s->plan, s->whole ? whole : plain, a->ws), "in '%s'", k->n->name);
	return conv_normed_cuda_deliver(k, made, a->out[0]);
}

static int run(const struct kplan *k, const struct kargs *a)
{
	return run_kind(k, a, false);
}

static int weight_run(const struct kplan *k, const struct kargs *a)
{
	return run_kind(k, a, true);
}

static int plan(struct kplan *k)
{
	static const enum conv_kind kind = CONV_FORWARD;
	const struct conv_ways ways = { plan_way, run, conv_normed_cuda_free, &kind };
	return conv_way_plan(k, &ways);
}

static int weight_plan(struct kplan *k)
{
	static const enum conv_kind kind = CONV_BACKWARD_WEIGHTS;
	const struct conv_ways ways = { plan_way, weight_run, conv_normed_cuda_free, &kind };
	return conv_way_plan(k, &ways);
}
#endif

/* --- samples --- */

#define NORM40 "40 40 40 40:positive; groups: 40, pad_lo: 1, pad_hi: 1"

static const char *const samples[] = {
	"2x3x5x6 5x3x3x3! - 3 3 3 3:positive",
	"2x8x7x6 16x8x3x3! - 8 8 8 8:positive; stride: 2, pad_lo: 1, pad_hi: 1",
	"1x8x4x3x5 8x8x3x2x3! - 8 8 8 8:positive; pad_lo: 1, pad_hi: 1",
	"2x8x17 16x8x3! - 8 8 8 8:positive; stride: 2, slope: 1",
	"2x16x4x5 16x1x3x3! - 16 16 16 16:positive; groups: 16, pad_lo: 1, pad_hi: 1",
	/* tiles: complete and partial ones, with some or all channels of a block */
	"2x40x11x27 40x1x3x3! - " NORM40 ", slope: 0.3",
	"1x40x23x9 40x1x3x3! - " NORM40 ", stride: 2, slope: 1",
	"1x72x17x19 72x1x3x3! - 72 72 72 72:positive; groups: 72, pad_lo: 2, pad_hi: 2, dilation: 2",
	NULL
};
static const char *const weight_samples[] = {
	"2x3x5x6 2x5x3x4 - 3 3 3 3:positive; kernel: 3",
	"2x8x7x6 2x16x4x3 - 8 8 8 8:positive; stride: 2, pad_lo: 1, pad_hi: 1, kernel: 3",
	"1x16x4x3 1x48x4x3 - 16 16 16 16:positive; kernel: 1",
	"1x8x4x3x5 1x8x4x4x5 - 8 8 8 8:positive; pad_lo: 1, pad_hi: 1, kernel: [3, 2, 3]",
	"1x8x7 1x16x4 - 8 8 8 8:positive; stride: 2, pad_lo: 1, pad_hi: 1, kernel: 3",
	"2x16x4x5 2x16x4x5 - 16 16 16 16:positive; groups: 16, pad_lo: 1, pad_hi: 1, kernel: 3",
	"2x40x11x27 2x40x11x27 - " NORM40 ", kernel: 3, slope: 0.3",
	"1x40x23x9 1x40x12x5 - " NORM40 ", kernel: 3, stride: 2, slope: 1",
	"1x72x17x19 1x72x17x19 - 72 72 72 72:positive; groups: 72, pad_lo: 2, pad_hi: 2, dilation: 2, "
	"kernel: 3", NULL
};

/* --- records --- */

static const struct op op_norm_conv = {
	.name = "norm_conv",
	.doc = "conv without bias of x normalised by gamma, beta, mean and 1 / deviation, with its "
	       "negative values times the slope",
	.flags = OP_ONCE | OP_COUNTED,
	.min_in = 2, .max_in = NORMED_INPUTS, .nout = 1,
	.attr_size = sizeof(struct conv_fused), .attrs = fields,
	.shape = shape, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = conv_normed_reference_plan,
			.run = reference },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = plan, .run = run, .free = conv_normed_cuda_free,
		            .slice_in = 1, .bf16_in = 3, .bf16_out = 1, .bf16 = KB_FASTER)
	},
	.samples = samples,
};

static const struct op op_norm_conv_grad_weight = {
	.name = "norm_conv_grad_weight",
	.doc = "conv_grad_weight of what norm_conv reads",
	.flags = OP_ONCE | OP_COUNTED | OP_ASIDE,
	.min_in = 2, .max_in = NORMED_INPUTS, .nout = 1,
	.attr_size = sizeof(struct conv_fused), .attrs = weight_fields,
	.shape = weight_shape, .cost = weight_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = conv_normed_reference_plan,
			.run = weight_reference },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = weight_plan, .run = weight_run,
		            .free = conv_normed_cuda_free,
		            .slice_in = 1, .makes_narrow = conv_makes_narrow,
		            .bf16_in = 3, .bf16_out = 1, .bf16 = KB_FASTER)
	},
	.samples = weight_samples,
};

OPSET(norm_conv, &op_norm_conv, &op_norm_conv_grad_weight);
