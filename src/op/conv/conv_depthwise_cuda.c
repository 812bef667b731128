/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Depthwise convolutions on the GPU: decides which of them dlx's kernels compute, and converts
 * tensors to their arguments. Windows of wider buffers are used in place. */
#include "op/conv/conv_own.h"

#include "base/debug.h"
#include "op/conv/conv_normed.h"
#include "op/conv/conv_shape.h"
#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

#include "cuda/depthwise.h"

struct conv_depthwise {
	enum conv_kind kind;
	int to;                      /* element type of the weights' gradient */
	struct k_depthwise at;       /* all arguments except pointers */
};

static bool is_taken(const struct conv_geom *c)
{
	bool taken = c->ns == 2 && c->groups == c->ci && c->co == c->ci && !debug_skips("depthwise");
	int64_t in = c->n, out = c->n;
	for (int a = 0; a < 2; a++) {
		taken = taken && c->kernel[a] == 3;
		in *= c->in[a];
		out *= c->out[a];
	}
	return taken && in <= INT32_MAX && out <= INT32_MAX;
}

static struct k_depthwise place(const struct device *dev, const struct conv_geom *c,
                                enum dtype type)
{
	struct k_depthwise d = { .n = c->n, .c = c->ci, .type = (int)type,
		.matrices = dev->arch >= 80 };
	for (int a = 0; a < 2; a++) {
		d.in[a] = (int)c->in[a];
		d.out[a] = (int)c->out[a];
		d.s[a] = (int)c->stride[a];
		d.d[a] = (int)c->dilation[a];
		d.lo[a] = (int)c->pad_lo[a];
	}
	return d;
}

/* cuDNN computes the others: windows other than 3 x 3, several channels in a group, and results
 * whose type differs from the inputs', except for the weights' gradient. */
static const void *make(const struct kplan *k, enum conv_kind kind, size_t *workspace)
{
	const struct conv_geom c = conv_geom_get(k->g, k->n, kind);
	const struct tensor *t[3];
	struct conv_depthwise *d = ARENA_NEW(k->arena, struct conv_depthwise);
	conv_own_tensors(k, kind, t);
	const enum dtype type = graph_t(k->g, k->n->in[0])->dtype;
	if (!is_taken(&c) || view_is_strided(t[1]) || t[0]->dtype != type || t[2]->dtype != type ||
	    (kind != CONV_BACKWARD_WEIGHTS && t[1]->dtype != type))
		return NULL;
	d->kind = kind;
	d->to = (int)t[1]->dtype;
	d->at = place(k->dev, &c, type);
	if (!conv_own_stride(t[0], &d->at.x.stride) || !conv_own_stride(t[2], &d->at.y.stride))
		return NULL;
	*workspace = kind == CONV_BACKWARD_WEIGHTS ? (size_t)k_depthwise_workspace(&d->at) : 0;
	return d;
}

static int run(const struct kplan *k, const void *made, void *x, void *w, void *y, void *ws)
{
	const struct conv_depthwise *d = made;
	struct k_depthwise at = d->at;
	void *stream = cuda_stream(k->dev);
	at.x.p = x;
	at.y.p = y;
	switch (d->kind) {
	case CONV_FORWARD: return cuda_launched(k, k_depthwise_forward(stream, &at, w));
	case CONV_BACKWARD_DATA: return cuda_launched(k, k_depthwise_grad_input(stream, &at, w));
	default: return cuda_launched(k, k_depthwise_grad_weight(stream, &at, d->to, w, ws));
	}
}

/* --- convolutions of a norm's result --- */

bool conv_depthwise_normed(const struct device *dev, const struct conv_geom *c)
{
	if (!is_taken(c) || debug_skips("chains"))
		return false;
	const struct k_depthwise d = place(dev, c, DTYPE_BF16);
	return k_depthwise_tiles(&d, NULL);
}

const void *conv_depthwise_make_normed(const struct kplan *k, enum conv_kind kind,
                                       size_t *workspace)
{
	const struct conv_geom c = conv_geom_get(k->g, k->n, kind);
	const struct tensor *t[3];
	conv_own_tensors(k, kind, t);
	if (!conv_depthwise_normed(k->dev, &c) || !dtype_is_16bit(t[0]->dtype))
		return NULL;
	const struct conv_depthwise *d = make(k, kind, workspace);
	if (d && kind == CONV_BACKWARD_DATA)
		*workspace = (size_t)k_depthwise_masked_workspace(&d->at);
	return d;
}

int conv_depthwise_run_normed(const struct kplan *k, const void *made,
                              const struct conv_normed_args *a)
{
	const struct conv_depthwise *d = made;
	struct k_depthwise at = d->at;
	void *stream = cuda_stream(k->dev);
	const struct k_depthwise_masked m = { { a->of, a->of_stride }, a->dgamma, a->dbeta };
	at.x.p = a->x;
	at.y.p = a->y;
	at.norm = (struct k_depthwise_norm){ a->gamma, a->beta, a->mean, a->rstd,
	                                     (float)a->slope };
	switch (d->kind) {
	case CONV_FORWARD: return cuda_launched(k, k_depthwise_forward(stream, &at, a->w));
	case CONV_BACKWARD_DATA:
		return cuda_launched(k, k_depthwise_grad_input_masked(stream, &at, a->w, &m, a->ws));
	default: return cuda_launched(k, k_depthwise_grad_weight(stream, &at, d->to, a->w, a->ws));
	}
}

const struct conv_own conv_depthwise_own = { "3x3 depthwise", make, run };

#endif
