/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides which gradients to weights dlx's kernels for few output channels compute on the GPU.
 * cuDNN's tiles are at least 64 channels wide: with 32 channels half of the products are with
 * zeros. Windows of wider buffers are used in place, while cuDNN would need packed copies. */
#include "op/conv/conv_own.h"

#include "op/conv/conv_shape.h"
#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

#include "backend/cuda/cuda.h"
#include "cuda/narrow_weights.h"

struct conv_narrow_weights {
	int to;                              /* element type of the gradient */
	struct k_narrow_weights at;          /* all arguments except pointers */
};

/* Windows of 3 x 3 or 5 x 5 on two or three axes, with strides and dilations of 1. */
static bool is_window_taken(const struct conv_geom *c)
{
	const int64_t side = c->ns > 1 ? c->kernel[c->ns - 1] : 0;
	bool taken = c->n > 0 && (side == 3 || side == 5) && c->kernel[c->ns - 2] == side;
	int64_t in = c->n, out = c->n;
	for (int a = 0; a < c->ns; a++) {
		taken = taken && c->stride[a] == 1 && c->dilation[a] == 1 && c->out[a] > 0;
		in *= c->in[a];
		out *= c->out[a];
	}
	return taken && in > 0 && in <= INT32_MAX && out <= INT32_MAX;
}

/* With more than 48 output channels cuDNN's tiles are well filled, unless the input has that few
 * channels, too. With rows of at most 8 pixels, half of dlx's products would be with zeros. */
static bool is_taken(const struct conv_geom *c)
{
	return is_window_taken(c) && c->groups == 1 && c->ci % 8 == 0 && c->co % 8 == 0 &&
	       c->ci > 0 && c->ci <= 1 << 20 && c->co > 0 && c->out[c->ns - 1] > 8 &&
	       (c->co <= 48 || (c->co <= 64 && c->ci <= 32));
}

/* Whether every pixel begins at a multiple of 16 bytes. */
static bool is_aligned(const struct tensor *t, int64_t *stride)
{
	return conv_own_stride(t, stride) && *stride % 8 == 0 && *stride <= INT32_MAX &&
	       (!view_is_strided(t) || t->view_at % 8 == 0);
}

static const void *make(const struct kplan *k, enum conv_kind kind, size_t *workspace)
{
	const struct conv_geom c = conv_geom_get(k->g, k->n, kind);
	const struct tensor *t[3];
	struct conv_narrow_weights *d = ARENA_NEW(k->arena, struct conv_narrow_weights);
	conv_own_tensors(k, kind, t);
	const enum dtype type = t[0]->dtype;
	if (kind != CONV_BACKWARD_WEIGHTS || k->dev->arch < 80 || !is_taken(&c) ||
	    (type != DTYPE_F16 && type != DTYPE_BF16) || t[2]->dtype != type || view_is_strided(t[1]) ||
	    !is_aligned(t[0], &d->at.x.stride) || !is_aligned(t[2], &d->at.y.stride))
		return NULL;
	d->to = (int)t[1]->dtype;
	d->at.n = (int)c.n;
	d->at.ci = (int)c.ci;
	d->at.co = (int)c.co;
	d->at.type = (int)type;
	d->at.processors = cuda_multiprocessors(k->dev);
	for (int a = 0; a < 3; a++) {
		const int of = a - 3 + c.ns;     /* with two axes the depth is 1 */
		d->at.in[a] = of < 0 ? 1 : (int)c.in[of];
		d->at.out[a] = of < 0 ? 1 : (int)c.out[of];
		d->at.kernel[a] = of < 0 ? 1 : (int)c.kernel[of];
		d->at.lo[a] = of < 0 ? 0 : (int)c.pad_lo[of];
	}
	*workspace = (size_t)k_narrow_weights_workspace(&d->at);
	return d;
}

static bool biased(const void *made)
{
	return k_narrow_weights_sums(&((const struct conv_narrow_weights *)made)->at);
}

static int run_biased(const struct kplan *k, const void *made, void *x, void *w, void *y,
                      void *bias, void *ws)
{
	const struct conv_narrow_weights *d = made;
	struct k_narrow_weights at = d->at;
	at.x.p = x;
	at.y.p = y;
	return cuda_launched(k, k_narrow_weights_run(cuda_stream(k->dev), &at, d->to, w, bias, ws));
}

static int run(const struct kplan *k, const void *made, void *x, void *w, void *y, void *ws)
{
	return run_biased(k, made, x, w, y, NULL, ws);
}

const struct conv_own conv_narrow_weights_own = { "narrow", make, run, .biased = biased,
	.run_biased = run_biased };

#endif
