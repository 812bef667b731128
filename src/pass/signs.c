/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gradient of y = relu(norm(x) + residual) reads y for its sign alone, which can be had neither
 * from x nor from what else it reads. Here the node that makes y also stores the signs as bits, and
 * the gradient reads these: 1/16 of y's bytes in 16 bits, 1/32 in float32 (cuda/k_norm_grad.cu
 * counts passes). Without a residual the sign comes from x, and y is not read at all.
 *
 * The bits are alive from y to the gradient. y is mostly kept as well, since a convolution that
 * reads it needs it for the gradient to its weights, though not as long. So this costs up to 1/16
 * of the memory of these activations for 7/8 of the traffic of one reading; where only the gradient
 * of the norm kept y, as before a pool of averages, it saves 15/16 of it. Kernels make a byte from
 * eight channels; other numbers of channels stay as they are, and so do CPUs, which read y from
 * nearer by. */
#include "pass/pass.h"

#include "base/err.h"
#include "pass/rewrite.h"

enum { Y_AT = 7 };           /* of batch_norm_grad */

/* The node that makes t, if there is a form of it that gives signs; *form: its name. */
static struct node *find_norm(const struct graph *g, tid t, const char **form)
{
	struct node *n = rewrite_producer(g, t);
	*form = rewrite_is(n, "batch_norm_apply") ? "batch_norm_apply_signs" : "batch_norm_signs";
	const bool suits = rewrite_is(n, "batch_norm") || rewrite_is(n, "batch_norm_apply");
	return suits && n->out[0] == t && graph_t(g, t)->shape.d[1] % 8 == 0 ? n : NULL;
}

/* Replaces n by its other form, whose inputs are `in`; what n does not make is not made either. */
static int become(struct rewrite *r, struct node *n, const char *form, const tid *in,
                  struct node **made)
{
	TRY(rewrite_replace(r, n, form, NULL, n->nin, in, made));
	for (int i = 0; i < n->nout; i++) {
		graph_t(r->g, (*made)->out[i])->producer = NONE;
		rewrite_take(r->g, *made, i, n->out[i]);
		(*made)->out[i] = n->out[i];     /* NONE, too */
	}
	return 0;
}

static int replace(struct rewrite *r, struct node *norm, const char *form, struct node *grad)
{
	tid in[Y_AT + 3];
	struct node *made;
	TRY(become(r, norm, form, norm->in, &made));
	for (int i = 0; i < grad->nin; i++)
		in[i] = i == Y_AT ? made->out[norm->nout] : grad->in[i];
	return become(r, grad, "batch_norm_grad_signs", in, &made);
}

int pass_signs(struct graph *g, struct pass_env *env)
{
	struct rewrite r;
	const char *form;
	int rc = 0;
	if (env->backend != BACKEND_CUDA)
		return 0;
	rewrite_begin(&r, g);
	for (int i = 0; i < r.nnode && rc == 0; i++) {
		struct node *grad = g->node[i], *norm = NULL;
		if (rewrite_is(grad, "batch_norm_grad") && grad->nin > Y_AT && grad->in[Y_AT] != NONE)
			norm = find_norm(g, grad->in[Y_AT], &form);
		if (norm)
			rc = replace(&r, norm, form, grad);
	}
	return rewrite_commit(&r, rc);
}
