/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes a copy of a whole param in another type or layout, which is kept from step to step: (w,
 * copy) -> copy'. It runs when a plan begins, and after anything but the update has written params;
 * otherwise the update itself rewrites the copies (pass/copies.c). */
#include "backend/device.h"
#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/walk.h"
#include "op/update/copier.h"

static int shape(struct graph *g, struct node *n)
{
	TRY(node_want_float(g, n, 0, "weight"));
	if (!dtype_is_float(graph_t(g, n->in[1])->dtype))
		return ERR(E_SHAPE, &g->cur_loc, "the copy of '%s' has no floats", n->op->name);
	TRY(node_want_like(g, n, 1, 0, "copy"));
	return graph_out_alias(g, n, 0, 1);
}

/* The pass that makes these nodes sets both layouts. */
static int choose(struct kplan *k, struct layout *in, struct layout *out)
{
	if (!in[0].set)
		in[0] = layout_plain(node_in_shape(k->g, k->n, 0));
	if (!in[1].set)
		in[1] = in[0];
	out[0] = in[1];
	return 0;
}

static int plan(struct kplan *k)
{
	const struct tensor *from = graph_t(k->g, k->n->in[0]), *to = graph_t(k->g, k->n->in[1]);
	struct copier *c;
	copier_new(&c, k->arena, (struct copier_side){ from, device_dtype(k->dev, from->dtype) },
	           (struct copier_side){ to, device_dtype(k->dev, to->dtype) }, false);
	if (!c)
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' cannot copy '%s'", k->n->op->name, from->name);
	k->state = c;
	k->impl = copier_name(c);
	return 0;
}

static int run(const struct kplan *k, const struct kargs *a)
{
	copier_all(k->state, a->in[0], a->out[0]);
	return 0;
}

/* --- cuda kernel --- */

#ifdef HAVE_CUDA
static int run_cuda(const struct kplan *k, const struct kargs *a)
{
	return cuda_launched(k, k_cast(cuda_stream(k->dev), cuda_in_type(k, 0), cuda_out_type(k, 0),
	                               kplan_out_elements(k, 0), a->in[0], a->out[0]));
}
#endif

static const char *const samples[] = { "4x3x5x3! 4x3x5x3@", "s! s@", "37x113x9! 37x113x9@", NULL };

static const struct op op_weight_copy = {
	.name = "weight_copy",
	.doc = "a param in another type or layout: (w, copy) -> copy'",
	.flags = OP_UPDATE | OP_SETUP,
	.min_in = 2, .max_in = 2, .nout = 1,
	.shape = shape,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = plan, .run = run),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = choose, .plan = plan, .run = run },
		CUDA_KERNEL(.layouts = KL_SAME, .run = run_cuda)
	},
	.samples = samples,
};

OPSET(weight_copy, &op_weight_copy);
