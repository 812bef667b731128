/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dilated convolutions of images as dense ones. With dilation d the pixels i, i + d, i + 2 d, ...
 * of an axis see only each other: they are a phase. All phases of a sample, copied one behind the
 * other, are d x d small images, of which the convolution is dense; what is missing from the last
 * row or column of a phase is zeros, and is not copied back.
 *
 * cuDNN's engines for wide dilations are older code: on an H100 those of deeplabv3+'s ASPP, three
 * of 2,048 channels to 256 at 96 x 144 pixels with dilations of 12, 24 and 36, take 0.70 ms
 * forward, 0.74 to the input and 0.80 to 0.86 to the weights, 304 to 371 TFLOP/s, where a dense one
 * as large ('aspp2' of deepcam) has 730 forward. A copy of the wide tensor takes 0.08 ms, so 0.46,
 * 0.60 and 0.53 ms are predicted, 2.2 of 56.7 ms a step. No GPU has measured it: it is taken only
 * where it is measured to be faster. */
#include "op/conv/conv_other.h"

#include "backend/cuda/cudnn.h"
#include "backend/plan_env.h"
#include "base/err.h"
#include "op/conv/conv_own.h"
#include "op/conv/conv_shape.h"
#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

struct conv_phases {
	struct cudnn_plan *plan;
	enum conv_kind kind;
	struct k_phases x, y;
	size_t x_at, y_at;           /* their phases in the workspace */
};

/* Windows that step from pixel to pixel, padded so that a result is as large as x. */
static bool has_phases(const struct conv_geom *c)
{
	bool all = c->ns == 2 && c->groups == 1 && (c->dilation[0] > 1 || c->dilation[1] > 1);
	for (int a = 0; a < 2; a++)
		all = all && c->stride[a] == 1 && c->in[a] == c->out[a] && c->in[a] <= INT32_MAX &&
		      c->pad_lo[a] >= 0 && c->pad_lo[a] % c->dilation[a] == 0 &&
		      c->pad_lo[a] / c->dilation[a] < c->kernel[a] && c->dilation[a] <= c->in[a];
	return all;
}

/* The dense convolution of all phases. */
static struct conv_geom dense_of(const struct conv_geom *c)
{
	struct conv_geom dense = *c;
	for (int a = 0; a < 2; a++) {
		const int64_t d = c->dilation[a];
		dense.n *= d;
		dense.in[a] = dense.out[a] = (c->in[a] + d - 1) / d;
		dense.dilation[a] = 1;
		dense.pad_lo[a] = c->pad_lo[a] / d;
		dense.pad_hi[a] = c->kernel[a] - 1 - dense.pad_lo[a];
	}
	return dense;
}

static bool place(struct k_phases *p, const struct conv_geom *c, const struct conv_geom *dense,
                  int64_t channels, int64_t stride, enum dtype type)
{
	const int64_t size = (int64_t)dtype_size(type);
	*p = (struct k_phases){ .n = c->n, .bytes = channels * size, .stride = stride * size };
	for (int a = 0; a < 2; a++) {
		p->size[a] = (int)c->in[a];
		p->phases[a] = (int)c->dilation[a];
		p->part[a] = (int)dense->in[a];
	}
	return p->bytes % 16 == 0 && p->stride % 16 == 0;
}

int conv_phases_plan(struct conv_other *o, struct kplan *k, enum conv_kind kind,
                     const struct conv_strides *s, size_t *workspace)
{
	const struct conv_geom c = conv_geom_get(k->g, k->n, kind), dense = dense_of(&c);
	const struct tensor *t[3];
	struct conv_phases *p = ARENA_NEW(k->arena, struct conv_phases);
	struct cudnn *library;
	conv_own_tensors(k, kind, t);
	const enum dtype type = graph_t(k->g, k->n->in[0])->dtype;
	if (!has_phases(&c) || s->addend || t[1]->view != NONE || !conv_own_in_place(t[0]) ||
	    !conv_own_in_place(t[2]) || !place(&p->x, &c, &dense, c.ci, s->x, type) ||
	    !place(&p->y, &c, &dense, c.co, s->y, type))
		return E_UNSUPPORTED;
	const struct shape xs = conv_x_shape(&dense), ys = conv_y_shape(&dense);
	const struct layout x = layout_native(&xs), y = layout_native(&ys);
	const struct cudnn_conv conv = {
		.kind = kind, .geom = dense, .type = type, .x = &x, .w = &t[1]->layout, .y = &y,
		.tf32 = k->env->tf32, .deterministic = k->env->deterministic };
	TRY(cuda_cudnn(k->dev, &library));
	TRY(cudnn_conv_new(&p->plan, library, k->env->wisdom, &conv));
	p->kind = kind;
	conv_own_reserve(workspace, cudnn_plan_workspace(p->plan));
	p->x_at = conv_own_reserve(workspace, (size_t)k_phases_bytes(&p->x));
	p->y_at = conv_own_reserve(workspace, (size_t)k_phases_bytes(&p->y));
	o->phases = p;
	o->name = arena_printf(k->arena, "%s in phases", cudnn_plan_name(p->plan));
	return 0;
}

int conv_phases_run(const struct conv_other *o, const struct kplan *k, void *const *arg, void *ws)
{
	const struct conv_phases *p = o->phases;
	const bool weights = p->kind == CONV_BACKWARD_WEIGHTS, data = p->kind == CONV_BACKWARD_DATA;
	void *stream = cuda_stream(k->dev), *const x = (char *)ws + p->x_at,
	     *const y = (char *)ws + p->y_at;
	const struct k_phases *first = data ? &p->y : &p->x, *result = data ? &p->x : &p->y;
	void *const given[] = { data ? y : x, weights ? y : arg[1], weights ? arg[2] : data ? x : y };
	TRY(cuda_launched(k, k_phases_gather(stream, first, arg[0], given[0])));
	if (weights)
		TRY(cuda_launched(k, k_phases_gather(stream, &p->y, arg[1], y)));
	TRY(cudnn_plan_run(p->plan, given, ws));
	return weights ? 0 :
	       cuda_launched(k, k_phases_scatter(stream, result, given[2], arg[2]));
}

void conv_phases_free(struct conv_other *o)
{
	cudnn_plan_free(o->phases->plan);
}

#endif
