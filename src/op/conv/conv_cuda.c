/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions on the GPU by cuDNN, or by dlx's kernels (conv_own.h). All tensors are
 * channels-last; weights are (O, kernel..., I). A forward bias is part of cuDNN's graph if an
 * engine supports it, otherwise a kernel of dlx adds it; the gradient of the bias is a sum over
 * rows. (cuBLASLt adds a bias to float32 results only.)
 *
 * A view of a larger buffer is packed into the workspace before the convolution, or unpacked after
 * it, since cuDNN's precompiled engines need packed tensors. The engines that cuDNN compiles for a
 * convolution with a bias can access windows in place, so they are tried first. Predicted, not
 * measured: tiramisu's step of two samples packs 12.7 GB in bf16, about half of it for forward
 * convolutions, which is 1.5 ms at 4.3 TB/s.
 *
 * Batches of 3 or 4 channels stay as they are, and dlx's kernels read them (conv_few_cuda.c). cuDNN
 * would pad them to 8 channels in its workspace.
 *
 * If the inputs are 16-bit, all three tensors are, since cuDNN's single operations read and write
 * one type: version 9.19 has no engine, compiled or not, for float32 gradients to weights. If the
 * result is to be float32, it is computed in the workspace and converted. For gradients to weights
 * that happens only if an op other than the update reads them in float32 (pass/precision.c). */
#include "op/conv/conv_cuda.h"

#include "backend/cuda/cudnn.h"
#include "backend/plan_env.h"
#include "base/err.h"
#include "op/conv/conv_fused.h"
#include "op/conv/conv_own.h"
#include "op/conv/conv_shape.h"
#include "op/conv/conv_way.h"
#include "op/lib/copy_cuda.h"

#ifdef HAVE_CUDA

enum { ARGUMENTS = 3 };              /* in[0], in[1] and out[0] */

struct conv_cuda {
	struct cudnn_plan *plan;
	const struct conv_own *own;  /* used instead of `plan`; NULL: not used */
	const void *made;            /* the result of own->make */
	enum conv_kind kind;
	enum dtype type;             /* type in which cuDNN computes */
	bool biased;                 /* cuDNN adds the bias */
	bool windows;                /* views are used in place */
	size_t cudnn_ws;             /* bytes of the workspace of cuDNN or of dlx's kernels; that of the
	                              * bias gradient follows it */
	size_t packed[ARGUMENTS];    /* offset in the workspace of each packed tensor; NOWHERE: used in
	                              * place */
	int64_t rows, channels, stride;      /* rows, channels and row stride of the tensor to which the
	                                      * bias belongs */
};

/* The tensors x, w and y of a node. */
struct operands {
	tid x, w, y, bias;           /* bias: the bias that is added, or its gradient */
};

static tid optional(const tid *t, int n, int i)
{
	return i < n ? t[i] : NONE;
}

static struct operands operands_of(const struct node *n, enum conv_kind kind)
{
	switch (kind) {
	case CONV_BACKWARD_DATA:
		return (struct operands){ n->out[0], n->in[1], n->in[0], optional(n->in, n->nin, 2) };
	case CONV_BACKWARD_WEIGHTS:
		return (struct operands){ n->in[0], n->out[0], n->in[1], optional(n->out, n->nout, 1) };
	default: return (struct operands){ n->in[0], n->in[1], n->out[0], optional(n->in, n->nin, 2) };
	}
}

static int check_types(const struct kplan *k)
{
	const enum dtype t = graph_t(k->g, k->n->in[0])->dtype;
	if (t != DTYPE_F32 && t != DTYPE_F16 && t != DTYPE_BF16)
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU takes f32, f16 and bf16, not %s",
		           k->n->op->name, dtype_name(t));
	const enum dtype to = graph_t(k->g, k->n->out[0])->dtype;
	if (graph_t(k->g, k->n->in[1])->dtype != t || (to != t && to != DTYPE_F32))
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU takes tensors of one element type",
		           k->n->op->name);
	return 0;
}

static size_t aligned(size_t n)
{
	return (n + 255) / 256 * 256;
}

static tid argument(const struct node *n, int i)
{
	return i < 2 ? n->in[i] : n->out[0];
}

static size_t dense_bytes(const struct tensor *t, enum dtype type)
{
	return aligned((size_t)shape_count(&t->shape) * dtype_size(type));
}

/* Reserves workspace from `at` on for packed views, and for results of another type; returns its
 * end. */
static size_t place_packed(const struct kplan *k, struct conv_cuda *ck, size_t at)
{
	for (int i = 0; i < ARGUMENTS; i++) {
		const struct tensor *t = graph_t(k->g, argument(k->n, i));
		const bool other = t->dtype != ck->type;
		const bool stays = !view_is_strided(t) || ck->windows;
		ck->packed[i] = stays && !other ? NOWHERE : at;
		if (ck->packed[i] != NOWHERE)
			at += dense_bytes(t, ck->type);
	}
	return at;
}

/* The layout that cuDNN gets. */
static struct layout packed_layout(const struct kplan *k, tid t)
{
	const struct tensor *x = graph_t(k->g, t);
	return view_is_strided(x) ? layout_native(&x->shape) : x->layout;
}

bool conv_makes_narrow(const struct node *n, int i)
{
	const struct conv_attr *at = n->attr;
	return i == 0 && at->groups <= 1;
}

int conv_cuda_windows(struct cudnn_plan **out, const struct cudnn *library, struct wisdom *w,
                      const struct cudnn_conv *v, size_t saved)
{
	struct cudnn_conv asked = *v;
	const int mark = err_count();
	asked.best_only = true;
	const int rc = cudnn_conv_new(out, library, w, &asked);
	if (rc == E_UNSUPPORTED) {
		err_truncate(mark);
		*out = NULL;
		return 0;
	}
	if (rc == 0 && cudnn_plan_workspace(*out) >= saved) {
		cudnn_plan_free(*out);
		*out = NULL;
	}
	return rc;
}

/* Whether cuDNN may add a forward bias; if the result is converted, the bias is added after
 * that. */
static bool may_add_bias(const struct kplan *k, const struct cudnn_conv *c)
{
	const struct conv_cuda *ck = k->state;
	return c->kind == CONV_FORWARD && optional(k->n->in, k->n->nin, 2) != NONE &&
	       graph_t(k->g, k->n->out[0])->dtype == ck->type;
}

/* Plans an engine that accesses windows in place, with the bias. */
static int plan_windows(struct kplan *k, const struct cudnn *library, const struct cudnn_conv *c)
{
	struct conv_cuda *ck = k->state;
	struct cudnn_conv fused = *c;
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *y = graph_t(k->g, k->n->out[0]);
	size_t saved = view_is_strided(x) ? dense_bytes(x, ck->type) : 0;
	saved += view_is_strided(y) ? dense_bytes(y, ck->type) : 0;
	if (saved == 0 || !may_add_bias(k, c) || !conv_fused_cuda_wanted(c) ||
	    view_is_strided(graph_t(k->g, k->n->in[1])) ||
	    !conv_own_in_place(x) || !conv_own_in_place(y))
		return E_UNSUPPORTED;
	fused.bias = true;
	fused.x = &x->layout;
	fused.y = &y->layout;
	TRY(conv_cuda_windows(&ck->plan, library, k->env->wisdom, &fused, saved));
	ck->biased = ck->windows = ck->plan != NULL;
	return ck->plan ? 0 : E_UNSUPPORTED;
}

/* Plans the convolution together with its bias, if it has one and cuDNN supports that. */
static int plan_with_bias(struct kplan *k, const struct cudnn *library, const struct cudnn_conv *c)
{
	struct conv_cuda *ck = k->state;
	struct cudnn_conv fused = *c;
	if (!may_add_bias(k, c))
		return E_UNSUPPORTED;
	fused.bias = fused.best_only = true;   /* a fallback engine is slower than a separate kernel of
	                                        * dlx */
	ck->biased = true;
	return cudnn_conv_new(&ck->plan, library, k->env->wisdom, &fused);
}

static int plan_engine(struct kplan *k, enum conv_way way, const struct cudnn_conv *c)
{
	struct conv_cuda *ck = k->state;
	struct cudnn *library;
	TRY(cuda_cudnn(k->dev, &library));
	switch (way) {
	case CONV_WINDOWS: return plan_windows(k, library, c);
	case CONV_WHOLE: return plan_with_bias(k, library, c);
	default: return cudnn_conv_new(&ck->plan, library, k->env->wisdom, c);
	}
}

/* Plans the convolution by cuDNN. *end: the end of its workspace. */
static int plan_library(struct kplan *k, enum conv_way way, const struct operands o, size_t *end)
{
	struct conv_cuda *ck = k->state;
	const enum conv_kind kind = ck->kind;
	const struct layout x = packed_layout(k, o.x), y = packed_layout(k, o.y);
	const struct cudnn_conv c = {
		.kind = kind, .geom = conv_geom_get(k->g, k->n, kind), .type = ck->type,
		.x = &x, .w = &graph_t(k->g, o.w)->layout, .y = &y,
		.tf32 = k->env->tf32, .deterministic = k->env->deterministic };
	TRY(plan_engine(k, way, &c));
	k->impl = arena_printf(k->arena, "%s%s", cudnn_plan_name(ck->plan),
	                       ck->windows ? ", windows" : "");
	k->choice = cudnn_plan_choice(ck->plan);
	*end = cudnn_plan_workspace(ck->plan);
	return 0;
}

static const struct conv_own *const own[] = { &conv_few_own, &conv_depthwise_own,
	&conv_narrow_own, &conv_narrow_weights_own, NULL };

static int plan_ours(struct kplan *k, size_t *end)
{
	struct conv_cuda *ck = k->state;
	for (int i = 0; own[i] && !ck->own; i++) {
		*end = 0;
		ck->made = own[i]->make(k, ck->kind, end);
		ck->own = ck->made ? own[i] : NULL;
	}
	k->impl = ck->own ? ck->own->name : NULL;
	return ck->own ? 0 : E_UNSUPPORTED;
}

/* kind_: points to an enum conv_kind. */
static int plan_way(struct kplan *k, enum conv_way way, const void *kind_)
{
	const enum conv_kind kind = *(const enum conv_kind *)kind_;
	const struct operands o = operands_of(k->n, kind);
	struct conv_cuda *ck = ARENA_NEW(k->arena, struct conv_cuda);
	struct layout_rows rows;
	size_t end = 0;
	TRY(check_types(k));
	k->state = ck;
	ck->kind = kind;
	ck->type = graph_t(k->g, k->n->in[0])->dtype;
	TRY(way == CONV_OURS ? plan_ours(k, &end) : plan_library(k, way, o, &end));
	const struct tensor *biased = graph_t(k->g, kind == CONV_BACKWARD_DATA ? o.x : o.y);
	if (!layout_rows(&biased->layout, &biased->shape, &rows))
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU works channels-last",
		           k->n->op->name);
	ck->rows = rows.rows;
	ck->channels = rows.c;
	ck->stride = rows.stride;
	end = ck->cudnn_ws = aligned(end);
	if (kind == CONV_BACKWARD_WEIGHTS && o.bias != NONE)
		end += aligned((size_t)k_channels_workspace(ck->rows, ck->channels));
	k->ws_bytes = ck->own ? end : place_packed(k, ck, end);
	return 0;
}

/* Packs window i into `to`. */
static int pack(const struct kplan *k, const struct kargs *a, int i, void *to)
{
	const struct tensor *t = graph_t(k->g, k->n->in[i]);
	const struct layout packed = layout_native(&t->shape);
	return cuda_copy(k, &t->shape, t->layout.stride, packed.stride, dtype_size(t->dtype),
	                 a->in[i], to);
}

static int bias_gradient(const struct kplan *k, const struct kargs *a, const void *dy,
                         int64_t stride)
{
	const struct conv_cuda *ck = k->state;
	if (k->n->nout < 2 || !a->out[1])
		return 0;
	return cuda_launched(k, k_channel_sum(cuda_stream(k->dev), cuda_in_type(k, 1), ck->rows,
	                                      ck->channels, stride, dy, a->out[1],
	                                      (char *)a->ws + ck->cudnn_ws));
}

/* Elements from pixel to pixel of argument i, as cuDNN reads or writes it. */
static int64_t stride_of(const struct conv_cuda *ck, int i)
{
	return ck->packed[i] == NOWHERE ? ck->stride : ck->channels;
}

/* Converts cuDNN's result, `made`, to the node's result: casts it, adds the bias and stores it, in
 * one pass. */
static int finish(const struct kplan *k, const struct kargs *a, void *made)
{
	const struct conv_cuda *ck = k->state;
	const struct tensor *t = graph_t(k->g, k->n->out[0]);
	const bool weights = ck->kind == CONV_BACKWARD_WEIGHTS;
	const void *bias = weights || ck->biased || k->n->nin < 3 ? NULL : a->in[2];
	void *stream = cuda_stream(k->dev);
	if (ck->packed[2] == NOWHERE && !bias)
		return 0;
	if (weights)
		return cuda_launched(k, k_cast(stream, (int)ck->type, (int)t->dtype, shape_count(&t->shape),
		                               made, a->out[0]));
	const struct k_epilogue e = {
		.rows = ck->rows, .c = ck->channels, .from = (int)ck->type, .to = (int)t->dtype,
		.shift = bias, .made = { made, stride_of(ck, 2) }, .y = { a->out[0], ck->stride } };
	return cuda_launched(k, k_epilogue_run(stream, &e));
}

static void *optional_at(void *const *p, int n, int i)
{
	return i < n ? p[i] : NULL;
}

/* All tensors are used in place. */
static int run_own(const struct kplan *k, const struct kargs *a)
{
	const struct conv_cuda *ck = k->state;
	const bool weights = ck->kind == CONV_BACKWARD_WEIGHTS, data = ck->kind == CONV_BACKWARD_DATA;
	void *in = a->in[0], *other = a->in[1], *made = a->out[0], *const x = data ? made : in,
	     *const w = weights ? made : other, *const y = weights ? other : data ? in : made;
	if (ck->own->run_with && !weights) {
		const struct k_epilogue bias = { .shift = optional_at(a->in, k->n->nin, 2),
			.y = { made, ck->stride } };
		return ck->own->run_with(k, ck->made, in, other, &bias);
	}
	if (ck->own->biased && ck->own->biased(ck->made))
		return ck->own->run_biased(k, ck->made, x, w, y,
		                           weights ? optional_at(a->out, k->n->nout, 1) :
		                           optional_at(a->in, k->n->nin, 2), a->ws);
	TRY(ck->own->run(k, ck->made, x, w, y, a->ws));
	if (weights)
		return bias_gradient(k, a, other, ck->stride);
	if (k->n->nin < 3 || !a->in[2])
		return 0;
	return cuda_launched(k, k_add_bias(cuda_stream(k->dev), cuda_out_type(k, 0), ck->rows,
	                                   ck->channels, ck->stride, a->in[2], made));
}

int conv_cuda_run(const struct kplan *k, const struct kargs *a)
{
	const struct conv_cuda *ck = k->state;
	if (ck->own)
		return run_own(k, a);
	void *arg[ARGUMENTS] = { a->in[0], a->in[1], a->out[0] };
	for (int i = 0; i < ARGUMENTS; i++) {
		if (ck->packed[i] == NOWHERE)
			continue;
		arg[i] = (char *)a->ws + ck->packed[i];
		if (i < 2)
			TRY(pack(k, a, i, arg[i]));
	}
	void *const with_bias[] = { arg[0], arg[1], a->in[k->n->nin > 2 ? 2 : 0], arg[2] };
	TRYC(cudnn_plan_run(ck->plan, ck->biased ? with_bias : arg, a->ws), "in '%s'", k->n->name);
	if (ck->kind == CONV_BACKWARD_WEIGHTS)
		TRY(bias_gradient(k, a, arg[1], stride_of(ck, 1)));
	return finish(k, a, arg[2]);
}

void conv_cuda_free(struct kplan *k)
{
	struct conv_cuda *ck = k->state;
	if (ck)
		cudnn_plan_free(ck->plan);
}

static int plan(struct kplan *k, enum conv_kind kind)
{
	const struct conv_ways ways = { plan_way, conv_cuda_run, conv_cuda_free, &kind };
	return conv_way_plan(k, &ways);
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
