/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions of single pixels as matrix products: of all pixels' channels, and the weights.
 *
 *   forward      y (pixels, co)  = x (pixels, ci) w' (ci, co)
 *   to the input dx (pixels, ci) = dy (pixels, co) w (co, ci)
 *   to the weights   dw (co, ci) = dy' (co, pixels) x (pixels, ci)
 *
 * A product takes the distance from pixel to pixel as it is, so that windows of wider buffers stay
 * in their places, and adds a tensor to the result before it rounds: of tiramisu's down_0 the sum
 * that follows the gradient to the input takes 0.48 of 0.70 ms, and the copy of a window 0.30 of
 * the 0.46 ms of that to the weights.
 *
 * cuDNN has engines for these, some of which are cuBLASLt's kernels, but not to the weights, where
 * the sum is long and the result small: on an H100 the 50 of deepcam with 728 channels each way and
 * 27,648 pixels take 0.070 ms each, 422 TFLOP/s (bf16, cuDNN 9.19), 0.036 ms being the bound; 0.05
 * ms are predicted of a product whose sum is split. No GPU has measured it: it is taken only where
 * it is measured to be faster. */
#include "op/conv/conv_other.h"

#include "backend/cuda/cublas.h"
#include "backend/plan_env.h"
#include "base/err.h"
#include "op/conv/conv_own.h"
#include "op/conv/conv_shape.h"

#ifdef HAVE_CUDA

static bool is_product(const struct conv_geom *c)
{
	bool all = c->groups == 1;
	for (int a = 0; a < c->ns; a++)
		all = all && c->kernel[a] == 1 && c->stride[a] == 1 && c->in[a] == c->out[a] &&
		      c->pad_lo[a] == 0;
	return all;
}

/* Pointers are aligned to 16 bytes, as cuBLASLt is told, and weights lie one behind the other. */
static bool in_place(const struct kplan *k, enum conv_kind kind)
{
	const tid arg[] = { k->n->in[0], k->n->in[1], k->n->out[0] };
	const int weights = kind == CONV_BACKWARD_WEIGHTS ? 2 : 1;
	bool all = graph_t(k->g, arg[weights])->view == NONE;
	for (int i = 0; i < 3; i++)
		all = all && conv_own_in_place(graph_t(k->g, arg[i]));
	return all;
}

int conv_product_plan(struct conv_other *o, struct kplan *k, enum conv_kind kind,
                      const struct conv_strides *s, size_t *workspace)
{
	const struct conv_geom c = conv_geom_get(k->g, k->n, kind);
	const enum dtype type = graph_t(k->g, k->n->in[0])->dtype;
	int64_t pixels = c.n;
	for (int a = 0; a < c.ns; a++)
		pixels *= c.in[a];
	const struct cublas_matmul of_kind[] = {
		[CONV_FORWARD] = { pixels, c.co, c.ci, { s->x, 1 }, { 1, c.ci }, { s->y, 1 } },
		[CONV_BACKWARD_DATA] = { pixels, c.ci, c.co, { s->y, 1 }, { c.ci, 1 }, { s->x, 1 } },
		[CONV_BACKWARD_WEIGHTS] = { c.co, c.ci, pixels, { 1, s->y }, { s->x, 1 }, { c.ci, 1 } } };
	struct cublas_matmul m = of_kind[kind];
	if (!is_product(&c) || !in_place(k, kind))
		return E_UNSUPPORTED;
	m.type = m.c_type = type;
	m.tf32 = k->env->tf32;
	m.addend = s->addend;
	o->swapped = kind == CONV_BACKWARD_WEIGHTS;
	TRY(cublas_matmul_new(&o->product, k->dev, k->env->wisdom, &m, CUBLAS_WORKSPACE));
	o->name = cublas_plan_name(o->product);
	*workspace = cublas_plan_workspace(o->product);
	return 0;
}

int conv_product_run(const struct conv_other *o, void *const *arg, const void *addend, void *ws)
{
	return cublas_plan_run(o->product, arg[o->swapped], arg[!o->swapped], NULL, addend, arg[2], ws);
}

#endif
