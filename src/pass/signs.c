/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gradient of y = relu(norm(x) + residual) reads y only for its sign, which cannot be found
 * from x or from its other inputs. This pass makes the node that computes y also store the signs as
 * bits, and the gradient read these: 1/16 of y's bytes in 16 bits, 1/32 in float32
 * (cuda/k_norm_grad.cu counts memory passes). Without a residual the sign follows from x, and y is
 * not read at all.
 *
 * The bits are alive from y to the gradient. y is usually kept as well, because the gradient of the
 * weights of a convolution needs it, but not as long. So this costs up to 1/16 of the memory of
 * these activations, and saves 7/8 of the traffic of one reading. If only the gradient of the norm
 * kept y, as before an average pooling, it saves 15/16 of the memory. Kernels make a byte from
 * eight channels, so other numbers of channels are left as they are. CPUs are too, because they
 * read y from the cache. */
#include "pass/pass.h"

#include "base/err.h"
#include "pass/rewrite.h"

enum { Y_AT = 7 };           /* of batch_norm_grad */

/* The node that makes t, if its op has a variant that also gives signs; *form: the name of that
 * variant. */
static struct node *find_norm(const struct graph *g, tid t, const char **form)
{
	struct node *n = rewrite_producer(g, t);
	*form = rewrite_is(n, "batch_norm_apply") ? "batch_norm_apply_signs" : "batch_norm_signs";
	const bool suits = rewrite_is(n, "batch_norm") || rewrite_is(n, "batch_norm_apply");
	return suits && n->out[0] == t && graph_t(g, t)->shape.d[1] % 8 == 0 ? n : NULL;
}

/* Replaces n by that variant, with inputs `in`; outputs that n does not have are omitted. */
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
