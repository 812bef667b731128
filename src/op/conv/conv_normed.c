/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the convolution of a normalised tensor that is not stored, and by its gradients. */
#include "op/conv/conv_normed.h"

#include "backend/plan_env.h"
#include "base/err.h"
#include "op/conv/conv_fused.h"
#include "op/conv/conv_own.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"

int conv_normed_shape(struct graph *g, struct node *n, int x, int first)
{
	if (n->nin > CONV_BIAS_AT && n->in[CONV_BIAS_AT] != NONE)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' takes no bias", n->op->name);
	if (n->nin < first + 4)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' lacks gamma, beta, mean and 1 / deviation",
		           n->op->name);
	for (int i = first; i < first + 4; i++) {
		if (n->in[i] == NONE)
			return ERR(E_SHAPE, &g->cur_loc, "'%s' has no input %d", n->op->name, i);
		TRY(check_vector(g, n, i, node_in_shape(g, n, x)->d[1]));
	}
	return 0;
}

int conv_normed_reference_plan(struct kplan *k)
{
	k->ws_bytes = conv_normed(k->n) ? sizeof(double) *
	              (size_t)shape_count(node_in_shape(k->g, k->n, 0)) : 0;
	return 0;
}

const double *conv_normed_reference(const struct kplan *k, const struct kargs *a)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const int64_t n = shape_count(s), size = n / (s->d[0] * s->d[1]);
	const double *x = a->in[0], *gamma = a->in[NORMED_GAMMA], *beta = a->in[NORMED_BETA],
	             *mean = a->in[NORMED_MEAN], *rstd = a->in[NORMED_RSTD];
	const double slope = conv_normed_slope(k->n);
	double *z = a->ws;
	for (int64_t i = 0; i < n; i++) {
		const int64_t c = i / size % s->d[1];
		const double v = (x[i] - mean[c]) * rstd[c] * gamma[c] + beta[c];
		z[i] = v > 0 ? v : slope * v;
	}
	return z;
}

#ifdef HAVE_CUDA
int conv_normed_cuda_engine(struct cudnn_plan **out, const struct device *d, struct wisdom *wisdom,
                            const struct cudnn_conv *c)
{
	struct cudnn_conv with = *c;
	struct cudnn *library;
	with.normalises = c->kind != CONV_BACKWARD_DATA;
	with.norm_sums = c->kind == CONV_BACKWARD_DATA;
	with.best_only = true;
	if (!conv_fused_cuda_wanted(c))
		return E_UNSUPPORTED;
	TRY(cuda_cudnn(d, &library));
	const int mark = err_count(), rc = cudnn_conv_new(out, library, wisdom, &with);
	if (rc == E_UNSUPPORTED)
		err_truncate(mark);
	return rc;
}

size_t conv_normed_cuda_room(const struct kplan *k)
{
	return ((size_t)node_in_shape(k->g, k->n, 0)->d[1] * sizeof(float) + 255) / 256 * 256;
}

int conv_normed_cuda_vectors(const struct kplan *k, const struct kargs *a, enum dtype type,
                             void *scale, void *shift)
{
	const struct k_norm_vectors v = {
		.c = node_in_shape(k->g, k->n, 0)->d[1], .type = (int)type, .gamma = a->in[NORMED_GAMMA],
		.beta = a->in[NORMED_BETA],
		.mean = a->in[NORMED_MEAN], .rstd = a->in[NORMED_RSTD], .scale = scale, .shift = shift };
	return cuda_launched(k, k_norm_vectors_run(cuda_stream(k->dev), &v));
}

int conv_normed_cuda_apply(const struct kplan *k, const struct kargs *a, void *z, void *room)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]);
	struct layout_rows rows;
	if (!layout_rows(&x->layout, &x->shape, &rows))
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU takes channels-last tensors",
		           k->n->op->name);
	const struct k_norm n = {
		.rows = rows.rows, .c = rows.c, .type = (int)x->dtype, .act = conv_normed_slope(k->n) != 1,
		.slope = (float)conv_normed_slope(k->n),
		.x = { a->in[0], rows.stride }, .y = { z, rows.c },
		.gamma = a->in[NORMED_GAMMA], .beta = a->in[NORMED_BETA], .mean = a->in[NORMED_MEAN],
		.rstd = a->in[NORMED_RSTD] };
	return cuda_launched(k, k_norm_inference(cuda_stream(k->dev), &n, room));
}

int conv_normed_cuda_plan(struct kplan *k, struct conv_normed_cuda *s, enum conv_way way,
                          struct cudnn_conv *c, const struct tensor *x)
{
	const struct tensor *a = graph_t(k->g, k->n->in[0]), *b = graph_t(k->g, k->n->in[1]),
	                    *y = graph_t(k->g, k->n->out[0]);
	struct cudnn *library;
	s->type = c->type = a->dtype;
	c->tf32 = k->env->tf32;
	c->deterministic = k->env->deterministic;
	if (b->dtype != s->type || x->dtype != s->type ||
	    (y->dtype != s->type && y->dtype != DTYPE_F32) ||
	    !layout_rows(&x->layout, &x->shape, &s->x))
		return ERR(E_UNSUPPORTED, &k->n->loc,
		           "'%s' on the GPU takes channels-last tensors of one type", k->n->op->name);
	s->whole = way == CONV_WHOLE;
	/* x is the only tensor of these nodes that may be a window, and only separate kernels support
	 * that. */
	if (way != CONV_PARTS && view_is_strided(x))
		return E_UNSUPPORTED;
	if (way == CONV_OURS) {
		s->own = conv_depthwise_make_normed(k, c->kind, &s->own_ws);
		return s->own ? 0 : E_UNSUPPORTED;
	}
	if (s->whole && conv_normed_slope(k->n) == 0)
		return conv_normed_cuda_engine(&s->plan, k->dev, k->env->wisdom, c);
	if (way != CONV_PARTS)
		return E_UNSUPPORTED;
	TRY(cuda_cudnn(k->dev, &library));
	return cudnn_conv_new(&s->plan, library, k->env->wisdom, c);
}

void conv_normed_cuda_free(struct kplan *k)
{
	struct conv_normed_cuda *s = k->state;
	if (s)
		cudnn_plan_free(s->plan);
}

void conv_normed_cuda_name(struct kplan *k, const char *without)
{
	const struct conv_normed_cuda *s = k->state;
	k->impl = s->own ? arena_printf(k->arena, "%s, whole", conv_depthwise_own.name) :
	          arena_printf(k->arena, "%s%s", cudnn_plan_name(s->plan),
	                       s->whole ? ", whole" : without);
}

int conv_normed_cuda_deliver(const struct kplan *k, void *made, void *to)
{
	const struct conv_normed_cuda *s = k->state;
	if (s->made == NOWHERE)
		return 0;
	return cuda_launched(k, k_cast(cuda_stream(k->dev), (int)s->type, cuda_out_type(k, 0),
	                               shape_count(node_out_shape(k->g, k->n, 0)), made, to));
}

size_t conv_normed_cuda_vector(const struct conv_normed_cuda *s)
{
	return ((size_t)s->x.c * sizeof(float) + 255) / 256 * 256;
}

size_t conv_normed_cuda_dense(const struct conv_normed_cuda *s, const struct shape *of)
{
	return (size_t)shape_count(of) * dtype_size(s->type);
}
#endif
