/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions between few and many channels on the GPU: decides which of them dlx's kernels
 * compute. These are convolutions that read at most four channels and, with stride 1, those that
 * compute at most four, treated as the mirror image of the former. Windows of wider buffers are
 * used in place. */
#include "op/conv/conv_own.h"

#include "op/conv/conv_shape.h"
#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

#include "cuda/few.h"

enum { LEAST_ARCH = 80 };            /* compute capability 8.0 */

struct conv_few {
	enum conv_kind kind;
	bool turned;                 /* y has the few channels */
	int to;                      /* element type of the result */
	struct k_few at;             /* all arguments except pointers */
};

/* With a window of one pixel, all rows of pixels are merged into one. */
static void flatten(struct k_few *g)
{
	int64_t pixels = g->n;
	for (int i = 0; i < 3; i++) {
		if (g->kernel[i] != 1 || g->stride[i] != 1 || g->lo[i] || g->in[i] != g->out[i])
			return;
		pixels *= g->in[i];
	}
	g->n = g->in[0] = g->out[0] = g->in[1] = g->out[1] = 1;
	g->in[2] = g->out[2] = (int)pixels;
}

static bool describe(const struct conv_geom *c, bool turned, struct k_few *g)
{
	const int64_t few = turned ? c->co : c->ci, many = turned ? c->ci : c->co;
	int64_t taps = 1, in = c->n, out = c->n;
	if (c->groups != 1 || few > K_FEW || many > INT32_MAX)
		return false;
	g->few = (int)few;
	g->many = (int)many;
	g->n = c->n;
	for (int i = 0; i < 3; i++)
		g->in[i] = g->out[i] = g->kernel[i] = g->stride[i] = 1;
	for (int a = 0; a < c->ns; a++) {
		const int i = 3 - c->ns + a;
		in *= c->in[a];
		out *= c->out[a];
		taps *= c->kernel[a];
		if (c->dilation[a] != 1 || (turned && c->stride[a] != 1) || c->kernel[a] > K_FEW_KERNEL ||
		    in > INT32_MAX || out > INT32_MAX)
			return false;
		g->in[i] = (int)(turned ? c->out : c->in)[a];
		g->out[i] = (int)(turned ? c->in : c->out)[a];
		g->kernel[i] = (int)c->kernel[a];
		g->stride[i] = (int)c->stride[a];
		g->lo[i] = (int)(turned ? c->kernel[a] - 1 - c->pad_lo[a] : c->pad_lo[a]);
	}
	g->w_first = turned ? (taps - 1) * many : 0;
	g->w_many = turned ? 1 : taps * few;
	g->w_tap = turned ? -many : few;
	g->w_few = turned ? taps * many : 1;
	flatten(g);
	return true;
}

/* The kind of convolution that dlx's kernel computes. */
static enum conv_kind kind_of(const struct conv_few *f)
{
	if (!f->turned || f->kind == CONV_BACKWARD_WEIGHTS)
		return f->kind;
	return f->kind == CONV_FORWARD ? CONV_BACKWARD_DATA : CONV_FORWARD;
}

static bool takes(const struct conv_few *f)
{
	switch (kind_of(f)) {
	case CONV_FORWARD: return k_few_takes(&f->at);
	case CONV_BACKWARD_DATA: return k_few_back_takes(&f->at);
	default: return k_few_weights_takes(&f->at);
	}
}

static const void *make(const struct kplan *k, enum conv_kind kind, size_t *workspace)
{
	const struct conv_geom c = conv_geom_get(k->g, k->n, kind);
	const struct tensor *t[3], *out = graph_t(k->g, k->n->out[0]);
	struct conv_few *f = ARENA_NEW(k->arena, struct conv_few);
	const enum dtype type = graph_t(k->g, k->n->in[0])->dtype;
	conv_own_tensors(k, kind, t);
	f->kind = kind;
	f->turned = c.ci > K_FEW;
	f->to = (int)out->dtype;
	f->at.type = (int)type;
	const struct tensor *few = t[f->turned ? 2 : 0], *many = t[f->turned ? 0 : 2];
	if (k->dev->arch < LEAST_ARCH || !dtype_is_16bit(type) || !describe(&c, f->turned, &f->at) ||
	    view_is_strided(t[1]) || graph_t(k->g, k->n->in[1])->dtype != type ||
	    (kind_of(f) == CONV_FORWARD && out->dtype != type) ||
	    (view_is_strided(many) && many->view_at % 8 != 0) ||
	    !conv_own_stride(few, &f->at.x.stride) || !conv_own_stride(many, &f->at.y.stride) ||
	    !takes(f))
		return NULL;
	*workspace = kind == CONV_BACKWARD_WEIGHTS ? (size_t)k_few_workspace(&f->at) : 0;
	return f;
}

/* The bias of a transposed convolution belongs to x, that of the others, and its gradient, to y. */
static bool biased(const void *made)
{
	const struct conv_few *f = made;
	return f->kind != CONV_BACKWARD_WEIGHTS || (!f->turned && k_few_sums(&f->at));
}

static int run_biased(const struct kplan *k, const void *made, void *x, void *w, void *y,
                      void *bias, void *ws)
{
	const struct conv_few *f = made;
	struct k_few at = f->at;
	void *stream = cuda_stream(k->dev);
	at.x.p = f->turned ? y : x;
	at.y.p = f->turned ? x : y;
	switch (kind_of(f)) {
	case CONV_FORWARD: return cuda_launched(k, k_few_forward(stream, &at, w, bias));
	case CONV_BACKWARD_DATA: return cuda_launched(k, k_few_back(stream, &at, f->to, w, bias));
	default: return cuda_launched(k, k_few_weights(stream, &at, f->to, w, bias, ws));
	}
}

static int run(const struct kplan *k, const void *made, void *x, void *w, void *y, void *ws)
{
	return run_biased(k, made, x, w, y, NULL, ws);
}

const struct conv_own conv_few_own = { "few channels", make, run, .biased = biased,
	.run_biased = run_biased };

#endif
