/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A convolution and its epilogue on the GPU. For few channels it is one kernel of dlx
 * (cuda/narrow.cuh). Otherwise it is one graph of cuDNN, if cuDNN recommends an engine for that; or
 * cuDNN's convolution followed by one kernel of dlx, if there is no such engine or if that is
 * measured to be faster (conv_way.h). The choice is made in the plan, whose implementation name
 * shows it.
 *
 * The separate kernel is always used for groups (cuDNN has generic code only), for results of
 * another type, and if a tensor of the result's shape is a view of a larger buffer that no engine
 * supports. It accesses views in place; the result may overwrite the addend. For the gradient to
 * the input, cuDNN then computes band by band (conv_bands.h), so that the intermediate result is
 * smaller. Forward, engines that access windows in place are tried first, as in conv_cuda.c;
 * otherwise an input that is a view is packed into the workspace. */
#include "op/conv/conv_fused.h"

#include <string.h>

#include "backend/plan_env.h"
#include "base/debug.h"
#include "base/err.h"
#include "op/conv/conv_bands.h"
#include "op/conv/conv_cuda.h"
#include "op/conv/conv_own.h"
#include "op/conv/conv_shape.h"
#include "op/conv/conv_way.h"
#include "op/lib/copy_cuda.h"
#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

struct fused_cuda {
	const struct conv_places *at;
	struct cudnn_plan *plan;     /* NULL: dlx's kernels are used */
	const struct conv_own *own;  /* dlx's kernels, or NULL */
	size_t own_ws;               /* bytes of workspace for dlx's kernels */
	const void *own_made;        /* the arguments that own->make returned */
	bool whole;                  /* no separate kernel of dlx follows */
	bool windows;                /* views are used in place */
	enum dtype type;
	int64_t rows, channels;      /* pixels and channels of the result */
	struct conv_bands bands;     /* bands of the gradient to the input */
	size_t vectors, packed, made;        /* offsets in the workspace, or NOWHERE: scale and shift;
	                                      * the packed input; cuDNN's result */
};

static const struct tensor *like(const struct kplan *k, int i)
{
	const tid t = conv_fused_input(k->n, i);
	return t == NONE ? NULL : graph_t(k->g, t);
}

static bool is_window(const struct tensor *t)
{
	return t && view_is_strided(t);
}

static int check_types(const struct kplan *k, const struct conv_places *at)
{
	const struct tensor *of[] = { graph_t(k->g, k->n->in[0]), graph_t(k->g, k->n->in[1]),
		like(k, at->addend), like(k, at->mask) };
	const enum dtype t = of[0]->dtype, to = graph_t(k->g, k->n->out[0])->dtype;
	bool alike = t == DTYPE_F32 || dtype_is_16bit(t);
	for (int i = 1; i < 4; i++)
		alike &= !of[i] || of[i]->dtype == t;
	if (!alike || (to != t && to != DTYPE_F32))
		return ERR(E_UNSUPPORTED, &k->n->loc,
		           "'%s' on the GPU takes f32, f16 or bf16 tensors of one type", k->n->op->name);
	return 0;
}

bool conv_fused_cuda_wanted(const struct cudnn_conv *c)
{
	return c->geom.groups == 1;
}

static size_t dense_bytes(const struct tensor *t)
{
	return is_window(t) ? (size_t)shape_count(&t->shape) * dtype_size(t->dtype) : 0;
}

/* Whether the layouts are equal: a cuDNN graph needs one layout for the result and the addend. */
static bool as_result(const struct tensor *t, const struct tensor *y)
{
	return !t || (layout_equal(&t->layout, &y->layout) && conv_own_in_place(t));
}

/* The chain as a problem for cuDNN, with packed tensors. */
static struct cudnn_conv chain_of(const struct kplan *k, const struct fused_cuda *f,
                                  const struct cudnn_conv *c)
{
	const struct conv_places *at = f->at;
	struct cudnn_conv chain = *c;
	chain.scale = at->gamma != 0;
	chain.bias = chain.scale || like(k, CONV_BIAS_AT);
	chain.addend = like(k, at->addend) != NULL;
	chain.relu = at->relu;
	chain.mask = at->mask != 0;
	chain.slope = at->relu || at->mask ? (float)((const struct conv_fused *)k->n->attr)->slope : 0;
	chain.best_only = true;
	return chain;
}

/* Plans a forward chain that accesses views in place. */
static int plan_windows(struct kplan *k, struct fused_cuda *f, const struct cudnn *library,
                        struct cudnn_conv v)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *y = graph_t(k->g, k->n->out[0]);
	const size_t saved = dense_bytes(x) + dense_bytes(y);
	if (saved == 0 || v.kind != CONV_FORWARD || !conv_own_in_place(x) || !conv_own_in_place(y) ||
	    !as_result(like(k, f->at->addend), y) || !as_result(like(k, f->at->mask), y))
		return E_UNSUPPORTED;
	v.x = &x->layout;
	v.y = &y->layout;
	TRY(conv_cuda_windows(&f->plan, library, k->env->wisdom, &v, saved));
	f->windows = f->plan != NULL;
	return f->plan ? 0 : E_UNSUPPORTED;
}

/* Plans the whole chain as one cuDNN graph. */
static int plan_whole(struct kplan *k, struct fused_cuda *f, enum conv_way way,
                      const struct cudnn *library, const struct cudnn_conv *c)
{
	const struct tensor *y = graph_t(k->g, k->n->out[0]);
	const struct cudnn_conv chain = chain_of(k, f, c);
	f->whole = true;
	if (!conv_fused_cuda_wanted(c) || y->dtype != f->type)
		return E_UNSUPPORTED;
	if (way == CONV_WINDOWS)
		return plan_windows(k, f, library, chain);
	if (is_window(y) || is_window(like(k, f->at->addend)) || is_window(like(k, f->at->mask)))
		return E_UNSUPPORTED;
	return cudnn_conv_new(&f->plan, library, k->env->wisdom, &chain);
}

/* Plans a kernel of dlx, which uses all tensors in place. If it does not support the epilogue, it
 * writes the convolution to the result, where the epilogue's kernel reads it; that is not possible
 * if the result is a window, which may share memory with the addend. */
static int plan_own(const struct kplan *k, struct fused_cuda *f)
{
	const struct tensor *y = graph_t(k->g, k->n->out[0]), *addend = like(k, f->at->addend),
	                    *mask = like(k, f->at->mask);
	if (y->dtype != f->type || (addend && !conv_own_in_place(addend)) ||
	    (mask && !conv_own_in_place(mask)))
		return E_UNSUPPORTED;
	/* in the order of preference */
	static const struct conv_own *const own[] = { &conv_narrow_own,
		&conv_depthwise_own };
	for (size_t i = 0; i < sizeof own / sizeof *own && !f->own; i++) {
		f->whole = own[i]->run_with != NULL;
		f->own_made = f->whole || !is_window(y) ? own[i]->make(k, f->at->kind, &f->own_ws) : NULL;
		f->own = f->own_made ? own[i] : NULL;
	}
	return f->own ? 0 : E_UNSUPPORTED;
}

static int plan_engine(struct kplan *k, struct fused_cuda *f, enum conv_way way,
                       const struct cudnn_conv *c)
{
	struct cudnn *library;
	if (way == CONV_OURS)
		return plan_own(k, f);
	TRY(cuda_cudnn(k->dev, &library));
	return way == CONV_PARTS ? cudnn_conv_new(&f->plan, library, k->env->wisdom, c) :
	       plan_whole(k, f, way, library, c);
}

/* The number of bands of an intermediate result, and the fewest pixels in one: about four waves of
 * tiles of 256 pixels on a large GPU. */
enum { BANDS = 4, BAND_PIXELS = 1 << 17 };

static bool made_elsewhere(const struct tensor *y, const struct fused_cuda *f)
{
	return !f->whole && (is_window(y) || y->dtype != f->type);
}

/* Chooses bands for CONV_PARTS. Engines need tensors that begin at multiples of 16 bytes. */
static void choose_bands(const struct kplan *k, struct fused_cuda *f, const struct conv_geom *g)
{
	const int64_t fit = f->rows / (debug.band_pixels ? debug.band_pixels : BAND_PIXELS);
	const bool splits = f->at->kind == CONV_BACKWARD_DATA && fit > 1 &&
	                    made_elsewhere(graph_t(k->g, k->n->out[0]), f);
	conv_bands_init(&f->bands, g, !splits ? 1 : fit < BANDS ? (int)fit : BANDS);
	if ((size_t)(f->bands.dy_row * g->co) * dtype_size(f->type) % 16 != 0)
		conv_bands_init(&f->bands, g, 1);
}

/* Floats from scale to shift: cuDNN needs alignment to 16 bytes. */
static size_t vector_room(const struct fused_cuda *f)
{
	return ((size_t)f->channels + 3) / 4 * 4;
}

static void place(struct kplan *k, struct fused_cuda *f)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]), *y = graph_t(k->g, k->n->out[0]);
	size_t end = 0;
	f->vectors = f->packed = f->made = NOWHERE;
	if (f->plan)
		conv_own_reserve(&end, cudnn_plan_workspace(f->plan));
	conv_own_reserve(&end, f->own_ws);
	if (f->at->gamma)
		f->vectors = conv_own_reserve(&end, 2 * sizeof(float) * vector_room(f));
	if (is_window(x) && !f->windows && !f->own)
		f->packed = conv_own_reserve(&end, (size_t)shape_count(&x->shape) * dtype_size(f->type));
	const int64_t made = f->at->kind == CONV_FORWARD ? f->rows : f->bands.made;
	if (made_elsewhere(y, f))
		f->made = conv_own_reserve(&end, (size_t)(made * f->channels) * dtype_size(f->type));
	k->ws_bytes = end;
}

/* at_: points to a struct conv_places. */
static int plan_way(struct kplan *k, enum conv_way way, const void *at_)
{
	const struct conv_places *at = at_;
	struct fused_cuda *f = k->state = ARENA_NEW(k->arena, struct fused_cuda);
	const struct conv_geom g = conv_geom_get(k->g, k->n, at->kind);
	const struct tensor *w = graph_t(k->g, k->n->in[1]), *result = graph_t(k->g, k->n->out[0]);
	TRY(check_types(k, at));
	f->at = at;
	f->type = graph_t(k->g, k->n->in[0])->dtype;
	f->channels = result->shape.d[1];
	f->rows = shape_count(&result->shape) / f->channels;
	conv_bands_init(&f->bands, &g, 1);
	if (way == CONV_PARTS)
		choose_bands(k, f, &g);
	const struct shape xs = conv_x_shape(&f->bands.geom), ys = conv_y_shape(&f->bands.geom);
	const struct layout x = layout_native(&xs), y = layout_native(&ys);
	const struct cudnn_conv c = {
		.kind = at->kind, .geom = f->bands.geom, .type = f->type,
		.x = &x, .w = &w->layout, .y = &y,
		.tf32 = k->env->tf32, .deterministic = k->env->deterministic };
	TRY(plan_engine(k, f, way, &c));
	place(k, f);
	const char *name = f->own ? f->own->name : cudnn_plan_name(f->plan);
	k->impl = f->own && f->whole ? name :
	          arena_printf(k->arena, "%s%s%s%s", name,
	                       f->bands.count > 1 ? " in bands" : "",
	                       f->whole ? ", whole" : ", then a kernel",
	                       f->windows ? ", windows" : "");
	return 0;
}

int conv_fused_cuda_plan(struct kplan *k, const struct conv_places *at)
{
	const struct conv_ways ways = { plan_way, conv_fused_cuda_run, conv_fused_cuda_free, at };
	return conv_way_plan(k, &ways);
}

void conv_fused_cuda_free(struct kplan *k)
{
	struct fused_cuda *f = k->state;
	if (f)
		cudnn_plan_free(f->plan);
}

/* --- running --- */

static void *argument(const struct kplan *k, const struct kargs *a, int i)
{
	return conv_fused_input(k->n, i) == NONE ? NULL : a->in[i];
}

/* The rows of the tensor from this pixel on. */
static struct k_rows rows_of(const struct tensor *t, void *p, int64_t pixel)
{
	struct layout_rows rows;
	if (!t || !layout_rows(&t->layout, &t->shape, &rows))
		return (struct k_rows){ 0 };
	return (struct k_rows){ (char *)p + (size_t)(pixel * rows.stride) * dtype_size(t->dtype),
		rows.stride };
}

static int pack(const struct kplan *k, const void *from, void *to)
{
	const struct tensor *t = graph_t(k->g, k->n->in[0]);
	const struct layout packed = layout_native(&t->shape);
	return cuda_copy(k, &t->shape, t->layout.stride, packed.stride, dtype_size(t->dtype), from, to);
}

static int fold(const struct kplan *k, const struct kargs *a, float *scale, float *shift)
{
	const struct fused_cuda *f = k->state;
	const struct k_fold n = {
		.c = f->channels, .eps = ((const struct conv_fused *)k->n->attr)->eps,
		.gamma = a->in[f->at->gamma],
		.beta = a->in[f->at->beta], .mean = a->in[f->at->mean], .variance = a->in[f->at->variance],
		.bias = argument(k, a, CONV_BIAS_AT), .scale = scale, .shift = shift };
	return cuda_launched(k, k_fold_norm(cuda_stream(k->dev), &n));
}

/* dlx's kernel for the epilogue, for the pixels of a band or for all. made: the convolution's
 * result for these pixels; NULL: dlx's kernel also computes the convolution, for all pixels. */
static int follow(const struct kplan *k, const struct kargs *a, void *made, const float *scale,
                  const float *shift, const struct conv_band *b)
{
	const struct fused_cuda *f = k->state;
	const struct tensor *y = graph_t(k->g, k->n->out[0]);
	const struct k_epilogue e = {
		.rows = b->count, .c = f->channels, .from = (int)f->type, .to = (int)y->dtype,
		.act = f->at->mask ? K_ACT_MASK : f->at->relu ? K_ACT_RELU : K_ACT_NONE,
		.slope = f->at->mask || f->at->relu ?
		(float)((const struct conv_fused *)k->n->attr)->slope : 0,
		.scale = scale, .shift = shift, .made = { made, f->channels },
		.addend = rows_of(like(k, f->at->addend), argument(k, a, f->at->addend), b->dx),
		.mask = rows_of(like(k, f->at->mask), argument(k, a, f->at->mask), b->dx),
		.y = rows_of(y, a->out[0], b->dx) };
	return !made ? f->own->run_with(k, f->own_made, a->in[0], a->in[1], &e) :
	       cuda_launched(k, k_epilogue_run(cuda_stream(k->dev), &e));
}

static int run_own(const struct kplan *k, const struct kargs *a, const float *scale,
                   const float *shift)
{
	const struct fused_cuda *f = k->state;
	const struct conv_band all = { .count = f->rows };
	const bool data = f->at->kind == CONV_BACKWARD_DATA;
	if (f->whole)
		return follow(k, a, NULL, scale, shift, &all);
	TRY(f->own->run(k, f->own_made, data ? a->out[0] : a->in[0], a->in[1],
	                data ? a->in[0] : a->out[0], a->ws));
	return follow(k, a, a->out[0], scale, shift, &all);
}

static void *advanced(const struct fused_cuda *f, void *p, int64_t elements)
{
	return (char *)p + (size_t)elements * dtype_size(f->type);
}

/* cuDNN's convolution and its epilogue, for the pixels of a band or for all. */
static int run_band(const struct kplan *k, const struct kargs *a, void *in, const float *scale,
                    const float *shift, const struct conv_band *b)
{
	const struct fused_cuda *f = k->state;
	void *const made = f->made == NOWHERE ? a->out[0] : (char *)a->ws + f->made;
	void *const more[] = { (void *)scale, (void *)shift, argument(k, a, f->at->addend),
		argument(k, a, f->at->mask) };
	void *given[CUDNN_ARGUMENTS];
	int n = 0;
	given[n++] = advanced(f, in, b->dy * node_in_shape(k->g, k->n, 0)->d[1]);
	given[n++] = a->in[1];
	for (int i = 0; i < 4 && f->whole; i++)
		if (more[i])
			given[n++] = more[i];
	given[n++] = made;
	TRYC(cudnn_plan_run(f->plan, given, a->ws), "in '%s'", k->n->name);
	return f->whole ? 0 :
	       follow(k, a, advanced(f, made, b->skipped * f->channels), scale, shift, b);
}

int conv_fused_cuda_run(const struct kplan *k, const struct kargs *a)
{
	const struct fused_cuda *f = k->state;
	const struct conv_band all = { .count = f->rows };
	char *ws = a->ws;
	float *scale = f->vectors == NOWHERE ? NULL : (float *)(ws + f->vectors);
	float *shift = scale ? scale + vector_room(f) : argument(k, a, CONV_BIAS_AT);
	void *in = f->packed == NOWHERE ? a->in[0] : ws + f->packed;
	int rc = 0;
	if (f->packed != NOWHERE)
		TRY(pack(k, a->in[0], in));
	if (scale)
		TRY(fold(k, a, scale, shift));
	if (f->own)
		return run_own(k, a, scale, shift);
	for (int i = 0; i < f->bands.count && rc == 0; i++) {
		const struct conv_band b = f->bands.count > 1 ? conv_band_at(&f->bands, i) : all;
		rc = run_band(k, a, in, scale, shift, &b);
	}
	return rc;
}

#endif
