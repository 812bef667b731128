/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation and its fused forms on the GPU: converts a node's tensors to the arguments of
 * cuda/k_norm.cu. */
#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/norm/norm.h"

#ifdef HAVE_CUDA

enum { MAX_IN = 10, MAX_OUT = 5 };

struct norm_cuda {
	int64_t rows, c;
	int64_t in[MAX_IN], out[MAX_OUT];        /* elements from row to row; 0: a vector, or absent */
	int type;
};

static int stride_of(const struct kplan *k, tid t, int64_t *out)
{
	const struct tensor *first = graph_t(k->g, k->n->in[0]),
	                    *x = t == NONE ? NULL : graph_t(k->g, t);
	struct layout_rows rows;
	if (!x || !shape_equal(&x->shape, &first->shape))
		return 0;
	if (!layout_rows(&x->layout, &x->shape, &rows) || x->dtype != first->dtype)
		return ERR(E_UNSUPPORTED, &k->n->loc,
		           "'%s' on the GPU takes channels-last tensors of one element type",
		           k->n->op->name);
	*out = rows.stride;
	return 0;
}

int norm_cuda_plan(struct kplan *k)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]);
	struct norm_cuda *s = k->state = ARENA_NEW(k->arena, struct norm_cuda);
	s->c = x->shape.d[1];
	s->rows = shape_count(&x->shape) / s->c;
	s->type = (int)x->dtype;
	for (int i = 0; i < k->n->nin; i++)
		TRY(stride_of(k, k->n->in[i], &s->in[i]));
	for (int i = 0; i < k->n->nout; i++)
		TRY(stride_of(k, k->n->out[i], &s->out[i]));
	k->ws_bytes = (size_t)k_norm_workspace(s->rows, s->c);
	return 0;
}

static struct k_rows in_rows(const struct kplan *k, const struct kargs *a, int i)
{
	const struct norm_cuda *s = k->state;
	return i < 0 || i >= k->n->nin ? (struct k_rows){ 0 } : (struct k_rows){ a->in[i], s->in[i] };
}

static struct k_rows out_rows(const struct kplan *k, const struct kargs *a, int i)
{
	const struct norm_cuda *s = k->state;
	return i < 0 ? (struct k_rows){ 0 } : (struct k_rows){ a->out[i], s->out[i] };
}

/* The signs of y, or an absent tensor. */
static struct k_rows signs_rows(const struct kplan *k, void *p)
{
	const struct norm_cuda *s = k->state;
	return (struct k_rows){ p, s->c / 8 };
}

static struct k_norm forward_of(const struct kplan *k, const struct kargs *a, double eps,
                                struct norm_act f)
{
	const struct norm_cuda *s = k->state;
	return (struct k_norm){
		.rows = s->rows, .c = s->c, .type = s->type, .act = f.on, .slope = (float)f.slope,
		.eps = eps,
		.x = in_rows(k, a, 0), .y = out_rows(k, a, 0), .gamma = a->in[1], .beta = a->in[2] };
}

/* The arguments for normalisation by the batch's statistics. */
static struct k_norm batch_of(const struct kplan *k, const struct kargs *a, double eps,
                              struct norm_act f)
{
	struct k_norm n = forward_of(k, a, eps, f);
	n.residual = in_rows(k, a, 3);
	n.mean = a->out[1];
	n.rstd = a->out[2];
	n.variance = a->out[3];
	n.signs = signs_rows(k, k->n->nout > 4 ? a->out[4] : NULL);
	return n;
}

int norm_forward_cuda(const struct kplan *k, const struct kargs *a, double eps, struct norm_act f)
{
	const struct k_norm n = batch_of(k, a, eps, f);
	return cuda_launched(k, k_norm_forward(cuda_stream(k->dev), &n, a->ws));
}

int norm_inference_cuda(const struct kplan *k, const struct kargs *a, double eps, struct norm_act f)
{
	struct k_norm n = forward_of(k, a, eps, f);
	n.residual = in_rows(k, a, 5);
	n.signs = signs_rows(k, k->n->nout > 1 ? a->out[1] : NULL);
	n.mean = a->in[3];
	if (eps == NORM_AGAIN)
		n.rstd = a->in[4];
	else
		n.variance = a->in[4];
	return cuda_launched(k, k_norm_inference(cuda_stream(k->dev), &n, a->ws));
}

static struct k_norm_grad gradient_of(const struct kplan *k, const struct kargs *a,
                                      const struct norm_grad *at)
{
	const struct norm_cuda *s = k->state;
	const struct k_rows none = { 0 };
	return (struct k_norm_grad){
		.rows = s->rows, .c = s->c, .type = s->type, .slope = (float)at->f.slope,
		.mask = !at->f.on ? K_NORM_ALL : at->signs ? K_NORM_FROM_SIGNS : at->y < 0 ? K_NORM_FROM_X :
		        K_NORM_FROM_Y,
		.x = in_rows(k, a, at->x), .dy = in_rows(k, a, at->dy), .second = in_rows(k, a, at->second),
		.y = at->signs ? none : in_rows(k, a, at->y),
		.signs = at->signs ? signs_rows(k, a->in[at->y]) : none,
		.addend = in_rows(k, a, at->addend), .dx = out_rows(k, a, 0),
		.masked = out_rows(k, a, at->masked), .gamma = a->in[at->gamma],
		.beta = in_rows(k, a, at->beta).p,
		.mean = a->in[at->mean], .rstd = a->in[at->rstd], .dgamma = a->out[1], .dbeta = a->out[2] };
}

int norm_grad_cuda(const struct kplan *k, const struct kargs *a, const struct norm_grad *at)
{
	const struct k_norm_grad g = gradient_of(k, a, at);
	return cuda_launched(k, k_norm_backward(cuda_stream(k->dev), &g, a->ws));
}

/* --- statistics of several ranks: the message is summed in place, in stream order --- */

int norm_sync_forward_cuda(const struct kplan *k, const struct kargs *a, double eps,
                           struct norm_act f, int group, const float *share)
{
	const struct k_norm n = batch_of(k, a, eps, f);
	const struct norm_sync t = norm_sync_of(a, group);
	if (!t.sums)
		return cuda_launched(k, k_norm_forward(cuda_stream(k->dev), &n, a->ws));
	double *message = norm_sync_memory(&t, NULL);
	TRY(cuda_launched(k, k_norm_forward_give(cuda_stream(k->dev), &n, share, message, a->ws)));
	TRY(norm_sync_meet(&t));
	return cuda_launched(k, k_norm_forward_take(cuda_stream(k->dev), &n, message, a->ws));
}

int norm_sync_grad_cuda(const struct kplan *k, const struct kargs *a, const struct norm_grad *at,
                        int group, const float *share)
{
	const struct k_norm_grad g = gradient_of(k, a, at);
	const struct norm_sync t = norm_sync_of(a, group);
	if (!t.sums)
		return cuda_launched(k, k_norm_backward(cuda_stream(k->dev), &g, a->ws));
	double *message = norm_sync_memory(&t, NULL);
	TRY(cuda_launched(k, k_norm_backward_give(cuda_stream(k->dev), &g, share, message, a->ws)));
	TRY(norm_sync_meet(&t));
	return cuda_launched(k, k_norm_backward_take(cuda_stream(k->dev), &g, share, message, a->ws));
}

/* Inputs x, dy, gamma, mean, variance: the statistics are constants. */
int norm_inference_grad_cuda(const struct kplan *k, const struct kargs *a, double eps)
{
	const struct norm_cuda *s = k->state;
	const struct k_norm_grad g = {
		.rows = s->rows, .c = s->c, .type = s->type, .mask = K_NORM_ALL, .x = in_rows(k, a, 0),
		.dy = in_rows(k, a, 1), .dx = out_rows(k, a, 0), .gamma = a->in[2], .mean = a->in[3],
		.variance = a->in[4], .eps = eps, .dgamma = a->out[1], .dbeta = a->out[2] };
	return cuda_launched(k, k_norm_backward(cuda_stream(k->dev), &g, a->ws));
}

#endif
