/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which depthwise convolutions our kernels take on the GPU, and where their tensors are. Windows of
 * wider buffers stay in their places. */
#include "op/conv/conv_own.h"

#include "base/debug.h"
#include "op/conv/conv_shape.h"
#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

#include "cuda/depthwise.h"

struct conv_depthwise {
	enum conv_kind kind;
	int to;                      /* type of the weights' gradient */
	struct k_depthwise at;       /* but for the pointers */
};

static bool is_taken(const struct conv_geom *c)
{
	bool taken = c->ns == 2 && c->groups == c->ci && c->co == c->ci && !debug.no_depthwise;
	int64_t in = c->n, out = c->n;
	for (int a = 0; a < 2; a++) {
		taken = taken && c->kernel[a] == 3;
		in *= c->in[a];
		out *= c->out[a];
	}
	return taken && in <= INT32_MAX && out <= INT32_MAX;
}

/* cuDNN takes windows of other than 3 x 3, several channels a group, and results of another type
 * than what is read, but for the weights' gradient. */
static const void *make(const struct kplan *k, enum conv_kind kind, size_t *workspace)
{
	const struct conv_geom c = conv_geom_get(k->g, k->n, kind);
	const struct tensor *t[3];
	struct conv_depthwise *d = ARENA_NEW(k->arena, struct conv_depthwise);
	conv_own_tensors(k, kind, t);
	const enum dtype type = graph_t(k->g, k->n->in[0])->dtype;
	d->kind = kind;
	d->to = (int)t[1]->dtype;
	d->at = (struct k_depthwise){ .n = c.n, .c = c.ci, .type = (int)type,
	                              .matrices = k->dev->arch >= 80 };
	if (!is_taken(&c) || t[1]->view != NONE || t[0]->dtype != type || t[2]->dtype != type ||
	    (kind != CONV_BACKWARD_WEIGHTS && t[1]->dtype != type) ||
	    !conv_own_stride(t[0], &d->at.x.stride) || !conv_own_stride(t[2], &d->at.y.stride))
		return NULL;
	for (int a = 0; a < 2; a++) {
		d->at.in[a] = (int)c.in[a];
		d->at.out[a] = (int)c.out[a];
		d->at.s[a] = (int)c.stride[a];
		d->at.d[a] = (int)c.dilation[a];
		d->at.lo[a] = (int)c.pad_lo[a];
	}
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

const struct conv_own conv_depthwise_own = { "3x3 depthwise", make, run };

#endif
