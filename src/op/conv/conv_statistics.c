/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A convolution that also computes the statistics of its result, for a batch_norm that follows it
 * (made by the pass `conv_statistics`, for GPUs): y = x * w, mean and variance of each channel of
 * y, rstd = 1 / sqrt(variance + eps).
 *
 * A kernel of dlx reads y and computes the statistics, like batch_norm's own. If bits may differ
 * and it is measured to be faster (conv_way.h), an engine of cuDNN sums while it writes y. It
 * seldom is: on an H100 the 53 convolutions of resnet-50 (256 samples, bf16, cuDNN 9.19) took 18.7
 * ms, most of them in code for compute capability 8.0; convolutions followed by dlx's kernels take
 * 8.1. If the convolution also has a norm before it (made by the pass `prologue`), its input is
 * relu(norm(x)): that engine computes it, or a kernel of dlx writes it to the workspace. Engines
 * that access windows of larger buffers in place are tried first. */
#include <math.h>

#include "backend/plan_env.h"
#include "base/err.h"
#include "op/conv/conv_cuda.h"
#include "op/conv/conv_fused.h"
#include "op/conv/conv_shape.h"
#include "op/conv/conv_normed.h"
#include "op/conv/conv_own.h"
#include "op/conv/conv_reference.h"
#include "op/conv/conv_way.h"
#include "op/lib/copy_cuda.h"
#include "op/lib/cuda.h"

static const struct field fields[] = {
	CONV_FIELDS,
	FIELD_FLOAT(struct conv_fused, eps, "1e-5", 1e-12, 1, "added to the variance before the root"),
	FIELD_END
};

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	TRY(conv_shape_rule(g, n, CONV_FORWARD));
	if (n->nin > CONV_BIAS_AT)
		TRY(conv_normed_shape(g, n, 0, NORMED_GAMMA));
	const struct shape c = shape_of(1, &node_out_shape(g, n, 0)->d[1]);
	for (int i = 1; i < 4; i++)
		TRY(graph_out(g, n, i, graph_t(g, n->in[0])->dtype, &c));
	return 0;
}

/* --- cost --- */

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	conv_count_flops(g, n, CONV_FORWARD, c);
}

/* --- reference kernel --- */

static int reference(const struct kplan *k, const struct kargs *a)
{
	const struct shape *s = node_out_shape(k->g, k->n, 0);
	const int64_t channels = s->d[1], n = shape_count(s), size = n / (s->d[0] * channels),
	              rows = n / channels;
	const double *y = a->out[0], eps = ((const struct conv_fused *)k->n->attr)->eps;
	void *in[] = { conv_normed(k->n) ? (void *)(uintptr_t)conv_normed_reference(k, a) : a->in[0],
		a->in[1], NULL };
	const struct kargs plain = { in, a->out, NULL };
	TRY(conv_reference(k, &plain));
	for (int64_t c = 0; c < channels; c++) {
		double sum = 0, squares = 0;
		for (int64_t i = 0; i < rows; i++)
			sum += y[(i / size * channels + c) * size + i % size];
		for (int64_t i = 0; i < rows; i++)
			squares += pow(y[(i / size * channels + c) * size + i % size] - sum / (double)rows, 2);
		const double out[] = { sum / (double)rows, 1 / sqrt(squares / (double)rows + eps),
			squares / (double)rows };
		for (int i = 0; i < 3; i++)
			if (a->out[1 + i])
				((double *)a->out[1 + i])[c] = out[i];
	}
	return 0;
}

/* --- cuda kernel --- */

#ifdef HAVE_CUDA

struct statistics_cuda {
	struct cudnn_plan *plan;
	const void *own;             /* arguments of dlx's kernels for few channels, or NULL */
	size_t own_ws;               /* bytes of workspace for dlx's kernels */
	bool whole, within;          /* whole: cuDNN computes the sums; within: and the norm before the
	                              * convolution */
	bool windows;                /* x and y are used in place */
	struct layout_rows y;        /* layout of y */
	size_t after, packed, made;  /* offsets in the workspace: of the sums, or of the workspace of
	                              * dlx's kernel; of the input, if it is packed or normalised there;
	                              * of the result, if that is a view or of another type */
	size_t vectors;              /* offset of the vectors of the norm before the convolution */
	size_t squares;              /* bytes from the sums to the sums of squares */
};

static size_t aligned(size_t n)
{
	return (n + 255) / 256 * 256;
}

static size_t dense_bytes(const struct kplan *k, const struct tensor *t)
{
	return aligned((size_t)shape_count(&t->shape) *
	               dtype_size(graph_t(k->g, k->n->in[0])->dtype));
}

/* Plans an engine that sums and accesses windows in place. v: the problem with packed tensors. */
static int plan_windows(struct kplan *k, struct statistics_cuda *s, const struct cudnn *library,
                        const struct cudnn_conv *v)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *y = graph_t(k->g, k->n->out[0]);
	struct cudnn_conv with = *v;
	const size_t saved = (view_is_strided(x) ? dense_bytes(k, x) : 0) +
	                     (view_is_strided(y) ? dense_bytes(k, y) : 0);
	if (saved == 0 || conv_normed(k->n) || !conv_fused_cuda_wanted(v) || y->dtype != x->dtype ||
	    !conv_own_in_place(x) || !conv_own_in_place(y))
		return E_UNSUPPORTED;
	with.x = &x->layout;
	with.y = &y->layout;
	TRY(conv_cuda_windows(&s->plan, library, k->env->wisdom, &with, saved));
	s->windows = s->whole = s->plan != NULL;
	return s->plan ? 0 : E_UNSUPPORTED;
}

/* Plans an engine that computes the sums and, if possible, the norm before the convolution. */
static int plan_whole(struct kplan *k, struct statistics_cuda *s, const struct cudnn *library,
                      const struct cudnn_conv *with)
{
	int rc = E_UNSUPPORTED;
	const int mark = err_count();
	s->whole = true;
	if (conv_normed(k->n) && !view_is_strided(graph_t(k->g, k->n->in[0])))
		rc = conv_normed_cuda_engine(&s->plan, k->dev, k->env->wisdom, with);
	s->within = rc == 0;
	if (rc != E_UNSUPPORTED || !conv_fused_cuda_wanted(with))
		return rc;
	err_truncate(mark);
	return cudnn_conv_new(&s->plan, library, k->env->wisdom, with);
}

/* Plans dlx's kernels for a network's first layer, for which cuDNN would pad the channels. */
static int plan_ours(struct kplan *k, struct statistics_cuda *s)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *y = graph_t(k->g, k->n->out[0]);
	if (conv_normed(k->n) || view_is_strided(x) || view_is_strided(y) || y->dtype != x->dtype)
		return E_UNSUPPORTED;
	s->own = conv_few_own.make(k, CONV_FORWARD, &s->own_ws);
	return s->own ? 0 : E_UNSUPPORTED;
}

static int plan_engine(struct kplan *k, struct statistics_cuda *s, enum conv_way way,
                       const struct cudnn_conv *c)
{
	struct cudnn_conv with = *c;
	struct cudnn *library;
	TRY(cuda_cudnn(k->dev, &library));
	with.statistics = with.best_only = true;
	switch (way) {
	case CONV_OURS: return plan_ours(k, s);
	case CONV_WINDOWS: return plan_windows(k, s, library, &with);
	case CONV_WHOLE: return plan_whole(k, s, library, &with);
	default: return cudnn_conv_new(&s->plan, library, k->env->wisdom, c);
	}
}

static int plan_way(struct kplan *k, enum conv_way way, const void *user)
{
	struct statistics_cuda *s = k->state = ARENA_NEW(k->arena, struct statistics_cuda);
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *w = graph_t(k->g, k->n->in[1]),
	                    *y = graph_t(k->g, k->n->out[0]);
	const struct layout from = layout_native(&x->shape), to = layout_native(&y->shape);
	if (w->dtype != x->dtype || (y->dtype != x->dtype && y->dtype != DTYPE_F32) ||
	    !layout_rows(&y->layout, &y->shape, &s->y))
		return ERR(E_UNSUPPORTED, &k->n->loc,
		           "'%s' on the GPU takes channels-last tensors of one type", k->n->op->name);
	const struct cudnn_conv c = {
		.kind = CONV_FORWARD, .geom = conv_geom_get(k->g, k->n, CONV_FORWARD), .type = x->dtype,
		.x = &from, .w = &w->layout,
		.y = &to, .tf32 = k->env->tf32, .deterministic = k->env->deterministic };
	(void)user;
	TRY(plan_engine(k, s, way, &c));
	s->squares = aligned((size_t)s->y.c * sizeof(float));
	s->after = aligned(s->own ? s->own_ws : cudnn_plan_workspace(s->plan));
	size_t end = s->after + (s->whole ? 2 * s->squares :
	                         aligned((size_t)k_norm_workspace(s->y.rows, s->y.c)));
	s->vectors = end;
	end += conv_normed(k->n) ? 2 * conv_normed_cuda_room(k) : 0;
	const bool reads = !view_is_strided(x) || s->windows;
	s->packed = (conv_normed(k->n) ? s->within : reads) ? NOWHERE : end;
	end += s->packed == NOWHERE ? 0 : dense_bytes(k, x);
	s->made = (!view_is_strided(y) || s->windows) && y->dtype == x->dtype ? NOWHERE : end;
	end += s->made == NOWHERE ? 0 : dense_bytes(k, y);
	k->ws_bytes = end;
	const char *name = s->own ? conv_few_own.name : cudnn_plan_name(s->plan);
	k->impl = arena_printf(k->arena, "%s%s%s%s", name, s->whole ? ", whole" : ", then a kernel",
	                       s->windows ? ", windows" : "",
	                       conv_normed(k->n) && !s->within ? ", after a kernel" : "");
	return 0;
}

static int pack(const struct kplan *k, const void *from, void *to)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]);
	const struct layout packed = layout_native(&x->shape);
	return cuda_copy(k, &x->shape, x->layout.stride, packed.stride, dtype_size(x->dtype), from, to);
}

/* The input x for cuDNN. */
static int make_input(const struct kplan *k, const struct kargs *a, void **in)
{
	const struct statistics_cuda *s = k->state;
	char *ws = a->ws;
	*in = s->packed == NOWHERE ? a->in[0] : ws + s->packed;
	if (s->within)
		return conv_normed_cuda_vectors(k, a, DTYPE_F32, ws + s->vectors,
		                                ws + s->vectors + conv_normed_cuda_room(k));
	if (conv_normed(k->n))
		return conv_normed_cuda_apply(k, a, *in, ws + s->vectors);
	return s->packed == NOWHERE ? 0 : pack(k, a->in[0], *in);
}

/* Copies the result from the place where cuDNN wrote it. */
static int deliver(const struct kplan *k, void *made, void *y)
{
	const struct statistics_cuda *s = k->state;
	const struct k_epilogue e = {
		.rows = s->y.rows, .c = s->y.c, .from = cuda_in_type(k, 0), .to = cuda_out_type(k, 0),
		.made = { made, s->y.c }, .y = { y, s->y.stride } };
	return cuda_launched(k, k_epilogue_run(cuda_stream(k->dev), &e));
}

static int cuda(const struct kplan *k, const struct kargs *a)
{
	const struct statistics_cuda *s = k->state;
	char *ws = a->ws;
	void *sums = ws + s->after, *squares = ws + s->after + s->squares;
	void *in, *made = s->made == NOWHERE ? a->out[0] : ws + s->made, *scale = ws + s->vectors;
	const struct k_norm n = {
		.rows = s->y.rows, .c = s->y.c, .type = cuda_in_type(k, 0),
		.eps = ((const struct conv_fused *)k->n->attr)->eps,
		.x = { made, s->made == NOWHERE ? s->y.stride : s->y.c },
		.mean = a->out[1], .rstd = a->out[2], .variance = a->out[3] };
	TRY(make_input(k, a, &in));
	void *const plain[] = { in, a->in[1], made, sums, squares };
	void *const normed[] = { in, a->in[1], scale, ws + s->vectors + conv_normed_cuda_room(k), made,
		sums, squares };
	if (s->own)
		TRY(conv_few_own.run(k, s->own, in, a->in[1], made, a->ws));
	else
		TRYC(cudnn_plan_run(s->plan, s->within ? normed : plain, a->ws), "in '%s'", k->n->name);
	if (s->made != NOWHERE)
		TRY(deliver(k, made, a->out[0]));
	return cuda_launched(k, s->whole ? k_norm_from_sums(cuda_stream(k->dev), &n, sums, squares)
	                                 : k_norm_statistics(cuda_stream(k->dev), &n, sums));
}

static void cuda_free(struct kplan *k)
{
	struct statistics_cuda *s = k->state;
	if (s)
		cudnn_plan_free(s->plan);
}

static int cuda_plan(struct kplan *k)
{
	/* A node has a norm before it only because cuDNN has an engine for both. */
	const struct conv_ways ways = { plan_way, cuda, cuda_free, NULL,
		.parts = !conv_normed(k->n) };
	return conv_way_plan(k, &ways);
}
#endif

/* --- samples --- */

static const char *const samples[] = {
	"2x3x5x6 5x3x3x3!", "2x3x7x6 5x3x3x3! ; stride: 2, pad_lo: 1, pad_hi: 1, eps: 0.01",
	"1x16x4x3 48x16x1x1!", "1x16x5x6 16x16x3x3! ; dilation: 3, pad_lo: 3, pad_hi: 3",
	"2x16x4x5 16x1x3x3! ; groups: 16, pad_lo: 1, pad_hi: 1",
	"1x3x4x3x5 8x3x3x2x3! ; pad_lo: 1, pad_hi: 1",
	"2x5x17 16x5x3! ; stride: 2, pad_lo: 1, pad_hi: 1",
	"1x3x15x37 64x3x7x7! ; stride: 2, pad_lo: 3, pad_hi: 3",
	"2x3x5x6 5x3x3x3! - 3 3 3 3:positive",
	"2x8x7x6 16x8x3x3! - 8 8 8 8:positive; stride: 2, pad_lo: 1, pad_hi: 1",
	"1x16x4x3 48x16x1x1! - 16 16 16 16:positive",
	"2x16x4x5 16x1x3x3! - 16 16 16 16:positive; groups: 16, pad_lo: 1, pad_hi: 1",
	"1x8x4x3x5 8x8x3x2x3! - 8 8 8 8:positive; pad_lo: 1, pad_hi: 1",
	"2x8x17 16x8x3! - 8 8 8 8:positive; stride: 2", NULL
};

/* --- record --- */

static const struct op op_conv_statistics = {
	.name = "conv_statistics",
	.doc = "conv without bias, perhaps of the relu of x normalised by the other inputs, and "
	       "its channels' statistics",
	.flags = OP_ONCE | OP_COUNTED,
	.min_in = 2, .max_in = NORMED_INPUTS, .nout = 4,
	.attr_size = sizeof(struct conv_fused), .attrs = fields,
	.shape = shape, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = conv_normed_reference_plan,
			.run = reference },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = cuda_plan, .run = cuda, .free = cuda_free,
		            .slice_in = 1, .slice_out = 1,
		            .bf16_in = 3, .bf16_out = 1, .bf16 = KB_FASTER)
	},
	.samples = samples,
};

OPSET(conv_statistics, &op_conv_statistics);
