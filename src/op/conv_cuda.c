/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions on the GPU by cuDNN, everything channels-last, weights as (O, kernel..., I) too. A bias is added by a kernel of ours,
 * and its gradient is a sum over rows. */
#include "op/conv_cuda.h"

#include "backend/cudnn.h"
#include "base/err.h"
#include "op/conv_geom.h"

#ifdef HAVE_CUDA

struct conv_cuda {
	struct cudnn_plan *plan;
	enum conv_kind kind;
	size_t cudnn_ws;             /* the bias gradient's workspace stands behind it */
	int64_t rows, channels;      /* of the tensor that a bias belongs to */
};

/* Where a node keeps x, w and y. */
struct operands {
	tid x, w, y, bias;           /* bias: the one added, or its gradient */
};

static tid optional(const tid *t, int n, int i)
{
	return i < n ? t[i] : NONE;
}

static struct operands operands_of(const struct node *n, enum conv_kind kind)
{
	switch (kind) {
	case CONV_BACKWARD_DATA: return (struct operands){ n->out[0], n->in[1], n->in[0], optional(n->in, n->nin, 2) };
	case CONV_BACKWARD_WEIGHTS: return (struct operands){ n->in[0], n->out[0], n->in[1], optional(n->out, n->nout, 1) };
	default: return (struct operands){ n->in[0], n->in[1], n->out[0], optional(n->in, n->nin, 2) };
	}
}

static int check_types(const struct kplan *k, const struct operands *o)
{
	const enum dtype t = graph_t(k->g, o->x)->dtype;
	if (t != DTYPE_F32 && t != DTYPE_F16 && t != DTYPE_BF16)
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU takes f32, f16 and bf16, not %s", k->n->op->name,
		           dtype_name(t));
	if (graph_t(k->g, o->w)->dtype != t || graph_t(k->g, o->y)->dtype != t)
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU takes tensors of one element type", k->n->op->name);
	return 0;
}

static size_t aligned(size_t n)
{
	return (n + 255) / 256 * 256;
}

static int plan(struct kplan *k, enum conv_kind kind)
{
	const struct operands o = operands_of(k->n, kind);
	struct conv_cuda *ck = ARENA_NEW(k->arena, struct conv_cuda);
	struct layout_rows rows;
	TRY(check_types(k, &o));
	k->state = ck;
	ck->kind = kind;
	struct cudnn_conv c = {
		.kind = kind, .geom = conv_geom_get(k->g, k->n, kind), .type = graph_t(k->g, o.x)->dtype,
		.x = &graph_t(k->g, o.x)->layout, .w = &graph_t(k->g, o.w)->layout, .y = &graph_t(k->g, o.y)->layout,
		.tf32 = k->dev->tf32, .deterministic = k->dev->deterministic };
	TRY(cudnn_conv_new(&ck->plan, k->dev, &c));
	const struct tensor *biased = graph_t(k->g, kind == CONV_BACKWARD_DATA ? o.x : o.y);
	if (!layout_rows(&biased->layout, &biased->shape, &rows))
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU works channels-last", k->n->op->name);
	ck->rows = rows.rows;
	ck->channels = rows.c;
	ck->cudnn_ws = aligned(cudnn_plan_workspace(ck->plan));
	k->ws_bytes = ck->cudnn_ws;
	if (kind == CONV_BACKWARD_WEIGHTS && o.bias != NONE)
		k->ws_bytes += (size_t)k_channels_workspace(ck->rows, ck->channels);
	k->impl = arena_strdup(k->arena, cudnn_plan_name(ck->plan));
	return 0;
}

int conv_cuda_run(const struct kplan *k, const struct kargs *a)
{
	const struct conv_cuda *ck = k->state;
	void *stream = cuda_stream(k->dev), *bias;
	TRYC(cudnn_plan_run(ck->plan, a->in[0], a->in[1], a->out[0], a->ws), "in '%s'", k->n->name);
	if (ck->kind == CONV_BACKWARD_WEIGHTS) {
		bias = k->n->nout > 1 ? a->out[1] : NULL;
		if (!bias)
			return 0;
		return cuda_launched(k, k_channel_sum(stream, cuda_in_type(k, 1), ck->rows, ck->channels, ck->channels,
		                                      a->in[1], bias, (char *)a->ws + ck->cudnn_ws));
	}
	bias = k->n->nin > 2 ? a->in[2] : NULL;
	if (!bias)
		return 0;
	return cuda_launched(k, k_add_bias(stream, cuda_out_type(k, 0), ck->rows, ck->channels, ck->channels, bias,
	                                   a->out[0]));
}

void conv_cuda_free(struct kplan *k)
{
	struct conv_cuda *ck = k->state;
	if (ck)
		cudnn_plan_free(ck->plan);
}

int conv_cuda_plan(struct kplan *k)
{
	return plan(k, CONV_FORWARD);
}

int conv_grad_input_cuda_plan(struct kplan *k)
{
	return plan(k, CONV_BACKWARD_DATA);
}

int conv_grad_weight_cuda_plan(struct kplan *k)
{
	return plan(k, CONV_BACKWARD_WEIGHTS);
}

#endif
