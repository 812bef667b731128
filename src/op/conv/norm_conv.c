/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gradient to w of y = z * w with z = relu(norm(x)), norm(x) = (x - mean) rstd gamma + beta,
 * where z has no memory (made by the pass `prologue`, for GPUs):
 *
 *   norm_conv_grad_weight   dw = conv_grad_weight of z and dy
 *
 * Where cuDNN recommends an engine for the whole, it is one kernel, unless separate ones are
 * measured to be faster (conv_way.h). */
#include "backend/plan_env.h"
#include "base/err.h"
#include "op/conv/conv.h"
#include "op/conv/conv_cuda.h"
#include "op/conv/conv_shape.h"
#include "op/conv/conv_normed.h"
#include "op/conv/conv_reference.h"
#include "op/conv/conv_way.h"
#include "op/lib/cuda.h"

static const struct field weight_fields[] = {
	CONV_FIELDS, FIELD_INTS(struct conv_attr, kernel, "1", 1, INT32_MAX,
	                        "spatial size of the weights"), FIELD_END
};

/* --- shape --- */

static int weight_shape(struct graph *g, struct node *n)
{
	TRY(conv_shape_rule(g, n, CONV_BACKWARD_WEIGHTS));
	return conv_normed_shape(g, n, 0, NORMED_GAMMA);
}

/* --- cost --- */

static void weight_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	conv_count_flops(g, n, CONV_BACKWARD_WEIGHTS, c);
}

/* --- reference kernel --- */

static int weight_reference(const struct kplan *k, const struct kargs *a)
{
	void *in[] = { (void *)(uintptr_t)conv_normed_reference(k, a), a->in[1] };
	const struct kargs of_z = { in, a->out, NULL };
	return conv_grad_weight_reference(k, &of_z);
}

/* --- cuda kernel --- */

#ifdef HAVE_CUDA

static int weight_plan_way(struct kplan *k, enum conv_way way, const void *user)
{
	struct conv_normed_cuda *s = k->state = ARENA_NEW(k->arena, struct conv_normed_cuda);
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *y = graph_t(k->g, k->n->in[1]),
	                    *w = graph_t(k->g, k->n->out[0]);
	const struct layout from = layout_native(&x->shape);
	struct cudnn_conv c = {
		.kind = CONV_BACKWARD_WEIGHTS, .geom = conv_geom_get(k->g, k->n, CONV_BACKWARD_WEIGHTS),
		.x = &from, .w = &w->layout,
		.y = &y->layout };
	(void)user;
	TRY(conv_normed_cuda_plan(k, s, way, &c, x));
	size_t end = 0;
	conv_normed_reserve(&end, cudnn_plan_workspace(s->plan));
	s->vectors = conv_normed_reserve(&end, 2 * conv_normed_cuda_room(k));
	s->room = s->whole ? NOWHERE : conv_normed_reserve(&end, conv_normed_cuda_dense(s, &x->shape));
	s->made = w->dtype == s->type ? NOWHERE :
	          conv_normed_reserve(&end, conv_normed_cuda_dense(s, &w->shape));
	k->ws_bytes = end;
	conv_normed_cuda_name(k, ", after a kernel");
	return 0;
}

static int weight_run(const struct kplan *k, const struct kargs *a)
{
	const struct conv_normed_cuda *s = k->state;
	char *ws = a->ws;
	void *scale = ws + s->vectors, *shift = ws + s->vectors + conv_normed_cuda_room(k);
	void *made = s->made == NOWHERE ? a->out[0] : ws + s->made,
	     *z = s->whole ? a->in[0] : ws + s->room;
	if (s->whole)
		TRY(conv_normed_cuda_vectors(k, a, s->type, scale, shift));
	else
		TRY(conv_normed_cuda_apply(k, a, z, scale));
	void *const whole[] = { a->in[0], a->in[1], scale, shift, made },
	*const plain[] = { z, a->in[1], made };
	TRYC(cudnn_plan_run(s->plan, s->whole ? whole : plain, a->ws), "in '%s'", k->n->name);
	return conv_normed_cuda_deliver(k, made, a->out[0]);
}

static int weight_plan(struct kplan *k)
{
	const struct conv_ways ways = { weight_plan_way, weight_run, conv_normed_cuda_free, NULL };
	return conv_way_plan(k, &ways);
}
#endif

/* --- samples --- */

static const char *const weight_samples[] = {
	"2x3x5x6 2x5x3x4 - 3 3 3 3:positive; kernel: 3",
	"2x8x7x6 2x16x4x3 - 8 8 8 8:positive; stride: 2, pad_lo: 1, pad_hi: 1, kernel: 3",
	"1x16x4x3 1x48x4x3 - 16 16 16 16:positive; kernel: 1",
	"1x8x4x3x5 1x8x4x4x5 - 8 8 8 8:positive; pad_lo: 1, pad_hi: 1, kernel: [3, 2, 3]",
	"1x8x7 1x16x4 - 8 8 8 8:positive; stride: 2, pad_lo: 1, pad_hi: 1, kernel: 3",
	"2x16x4x5 2x16x4x5 - 16 16 16 16:positive; groups: 16, pad_lo: 1, pad_hi: 1, kernel: 3", NULL
};

/* --- record --- */

static const struct op op_norm_conv_grad_weight = {
	.name = "norm_conv_grad_weight",
	.doc = "conv_grad_weight of the relu of x, normalised by gamma, beta, mean and 1 / deviation",
	.flags = OP_ONCE | OP_COUNTED,
	.min_in = 2, .max_in = NORMED_INPUTS, .nout = 1,
	.attr_size = sizeof(struct conv_attr), .attrs = weight_fields,
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

OPSET(norm_conv, &op_norm_conv_grad_weight);
