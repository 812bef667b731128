/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fused BN-ReLU prologue: where only convolutions and the gradients to their weights read
 * f(norm(x)), f being ReLU, these nodes read x and normalise it on the fly
 * (op/conv/conv_normed.h), and the normalised tensor is never stored. The convolution that computes
 * the gradient to the norm's result also applies ReLU's gradient and computes the norm's sums
 * (op/conv/conv_norm_grad.c), if there is one; the rest of the norm's gradient is one pass over
 * memory:
 *
 *   batch_norm_apply, conv_statistics, conv_grad_weight        conv_statistics of x and the norm,
 *                                                              norm_conv_grad_weight
 *   batch_norm_apply, conv, conv_grad_weight                   norm_conv, norm_conv_grad_weight
 *   conv_grad_input, batch_norm_grad                           conv_grad_input_norm,
 *                                                              batch_norm_grad_rest
 *
 * This applies only where there are engines for the whole chain: normalising into the workspace
 * would cost what is gained. x is the output of conv_statistics, so neither concatenated channels
 * nor biased convolutions qualify.
 *
 * Depthwise convolutions have dlx's kernels for it (cuda/depthwise_tile.cuh) in both 16-bit
 * types, with any slope of f below zero and without f. Forward and the gradient to the weights have
 * the bits that they have with the normalised tensor in memory. Of deepcam's 76 norms 42 are
 * followed by such a convolution alone: 3.2 GB with 8 samples in bf16, which are not kept.
 * Prediction (H100, not measured): forward saves two passes over them, backward one, 2.8 ms of 67
 * ms a step by backend/node_time.c.
 *
 * With cuDNN 9.19 there are engines in fp16 for both inner norms of all sixteen blocks of
 * ResNet-50: engine 3 (compiled at run time) forward, 2 for the weights, 1 for the input
 * (precompiled), with 0.05 to 1 MB of workspace. The engines want packed channels in eights and
 * ReLU without slope. 7 x 7 windows have no engine to the weights, windows dilated by 12 none to
 * either, and a view of concatenated channels has one forward alone. In bf16 a gradient to the
 * weights needs the normalised tensor in memory, so the fusion would only move work to the backward
 * part. Vectors are float32 forward and to the input, fp16 to the weights; the value between scale
 * and bias is rounded to fp16, which costs digits where a channel's mean is several times its
 * deviation.
 *
 * DLX_DEBUG=skip=chains keeps norms as they are, and a described GPU without a driver, which cannot
 * say what cuDNN would compile, has those before depthwise convolutions fused alone. */
#include "pass/prologue.h"

#include <string.h>

#include "backend/plan_env.h"
#include "base/err.h"
#include "base/mem.h"
#include "op/conv/conv.h"
#include "op/conv/conv_shape.h"
#include "op/conv/conv_normed.h"
#include "op/norm/norm.h"
#include "pass/rewrite.h"

enum { MOST = 8 };            /* readers of a norm */

struct walk {
	struct graph *g;
	const struct prologue_engines *engines;
	struct arena *scratch;
	struct readers readers;      /* of the graph as it is now */
};

struct site {
	struct node *norm, *reader[MOST];
	int readers, forward;        /* number of readers, and of forward convolutions among them */
	struct node *data, *grad;    /* gradient convolution of the data, and gradient of the norm;
	                              * NULL: none */
};

static double slope_of(const struct node *norm)
{
	return ((const struct norm_attr *)norm->attr)->slope;
}

static bool absent(const struct node *n, int from)
{
	for (int i = from; i < n->nin; i++)
		if (n->in[i] != NONE)
			return false;
	return true;
}

static bool is_forward(const struct node *n)
{
	return rewrite_is(n, "conv_statistics") || rewrite_is(n, "conv");
}

static bool reads_plainly(const struct node *n)
{
	const bool weights = rewrite_is(n, "conv_grad_weight") && (n->nout < 2 || n->out[1] == NONE);
	return absent(n, 2) && (weights || is_forward(n));
}

/* All readers of y; false if one of them needs it in memory. */
static bool find_readers(const struct walk *w, struct site *s)
{
	const tid y = s->norm->out[0];
	const struct reader *u = readers_of(&w->readers, y);
	const int n = readers_count(&w->readers, y);
	for (int i = 0; i < n; i++) {
		if (i == MOST || u[i].in != 0 || u[i].n->in[1] == y || !reads_plainly(u[i].n))
			return false;
		s->forward += is_forward(u[i].n);
		s->reader[s->readers++] = u[i].n;
	}
	return s->forward > 0;
}

static bool suits(const struct walk *w, const struct node *norm)
{
	const struct graph *g = w->g;
	if (!rewrite_is(norm, "batch_norm_apply") || !absent(norm, 5) ||
	    graph_t(g, norm->out[0])->output)
		return false;
	const tid x = norm->in[0];
	for (int i = 0; i < readers_count(&w->readers, x); i++)
		if (readers_of(&w->readers, x)[i].n->op->flags & OP_CONCAT)
			return false;
	return rewrite_made_by(g, x, "conv_statistics") != NULL;
}

static bool has(const struct walk *w, const struct site *s, const struct node *n,
                enum conv_kind kind)
{
	const struct conv_geom c = conv_geom_get(w->g, n, kind);
	if (c.groups == 1 && slope_of(s->norm) != 0)
		return false;
	/* dlx's kernels give no statistics, and cuDNN is queried if those are needed. */
	if (kind == CONV_FORWARD && rewrite_is(n, "conv") != (c.groups > 1))
		return false;
	return w->engines->has(w->engines->user, kind, &c);
}

static bool readers_have_engines(const struct walk *w, const struct site *s)
{
	for (int i = 0; i < s->readers; i++)
		if (!has(w, s, s->reader[i],
		         is_forward(s->reader[i]) ? CONV_FORWARD : CONV_BACKWARD_WEIGHTS))
			return false;
	return true;
}

/* Whether n is the gradient of this norm. */
static bool is_gradient(const struct node *n, int in, const struct node *norm)
{
	return rewrite_is(n, "batch_norm_grad") && in == 0 && slope_of(n) == slope_of(norm) &&
	       absent(n, 7) && n->in[3] == norm->in[3] && n->in[4] == norm->in[4];
}

/* Finds the norm's gradient, and the gradient convolution whose output only that node reads. */
static void find_gradient(const struct walk *w, struct site *s)
{
	const tid x = s->norm->in[0];
	const struct reader *u = readers_of(&w->readers, x);
	for (int i = 0; i < readers_count(&w->readers, x); i++) {
		if (!is_gradient(u[i].n, u[i].in, s->norm))
			continue;
		const tid dy = u[i].n->in[1];
		struct node *by = rewrite_made_by(w->g, dy, "conv_grad_input");
		if (!by || graph_t(w->g, dy)->output || readers_count(&w->readers, dy) != 1 ||
		    !absent(by, 2) || !has(w, s, by, CONV_BACKWARD_DATA))
			continue;
		s->data = by;
		s->grad = u[i].n;
		return;
	}
}

/* Replaces a reader of y by one of x. */
static int fold_reader(struct rewrite *r, const struct node *norm, struct node *old)
{
	const tid *m = norm->in, in[] = { m[0], old->in[1], NONE, m[1], m[2], m[3], m[4] };
	const bool statistics = rewrite_is(old, "conv_statistics");
	const char *name = statistics ? "conv_statistics" : rewrite_is(old, "conv") ? "norm_conv" :
	                   "norm_conv_grad_weight";
	struct node *made;
	TRY(rewrite_replace(r, old, name, statistics ? NULL : norm, NORMED_INPUTS, in, &made));
	for (int i = 0; i < made->nout && i < old->nout; i++)
		rewrite_take(r->g, made, i, old->out[i]);
	return 0;
}

static int fold_gradient(struct rewrite *r, const struct node *norm, struct node *data,
                         struct node *grad)
{
	const tid *b = grad->in, in[] = { data->in[0], data->in[1], NONE, b[0], b[2], norm->in[2],
		b[3], b[4] };
	struct node *sums, *made;
	TRY(rewrite_replace(r, data, "conv_grad_input_norm", norm, 8, in, &sums));
	for (int i = 1; i < 3; i++)
		rewrite_take(r->g, sums, i, grad->out[i]);
	const tid *t = sums->out, rest[] = { b[0], t[0], b[2], b[3], b[4], t[1], t[2],
		grad->nin > 6 ? b[6] : NONE };
	TRY(rewrite_replace(r, grad, "batch_norm_grad_rest", NULL, 8, rest, &made));
	rewrite_take(r->g, made, 0, grad->out[0]);
	return 0;
}

static int fold(struct rewrite *r, const struct site *s)
{
	for (int i = 0; i < s->readers; i++)
		TRY(fold_reader(r, s->norm, s->reader[i]));
	rewrite_drop(r, s->norm);
	return s->data ? fold_gradient(r, s->norm, s->data, s->grad) : 0;
}

/* Fuses norm n if possible. */
static int visit(struct walk *w, struct node *n, bool *folded)
{
	struct site s = { .norm = n };
	struct rewrite r;
	*folded = suits(w, n) && find_readers(w, &s) && readers_have_engines(w, &s);
	if (!*folded)
		return 0;
	find_gradient(w, &s);
	rewrite_begin(&r, w->g);
	TRY(rewrite_commit(&r, fold(&r, &s)));
	w->readers = rewrite_readers(w->g, w->scratch);
	return 0;
}

int prologue_fold(struct graph *g, const struct prologue_engines *engines)
{
	struct walk w = { .g = g, .engines = engines, .scratch = arena_new() };
	bool folded;
	int rc = 0;
	w.readers = rewrite_readers(g, w.scratch);
	/* the next node is then at the norm's index */
	for (int i = 0; i < g->nnode && rc == 0; i += !folded)
		rc = visit(&w, g->node[i], &folded);
	arena_free(w.scratch);
	return rc;
}

/* --- on a GPU --- */

#ifdef HAVE_CUDA

/* A cache of cuDNN's answers, since a network repeats its shapes and an answer takes time. */
struct asked {
	enum conv_kind kind;
	struct conv_geom geom;
	bool has;
};

struct questions {
	const struct pass_env *env;
	struct asked *a;
	int n, rc;                   /* number of answers; rc: an error other than a missing engine */
};

static bool ask(struct questions *q, enum conv_kind kind, const struct conv_geom *geom)
{
	const struct shape xs = conv_x_shape(geom), ws = conv_w_shape(geom), ys = conv_y_shape(geom);
	const struct layout x = layout_native(&xs), w = layout_native(&ws), y = layout_native(&ys);
	const struct cudnn_conv c = {
		.kind = kind, .geom = *geom, .type = DTYPE_F16, .x = &x, .w = &w, .y = &y,
		.statistics = kind == CONV_FORWARD,
		.deterministic = q->env->plan->deterministic };
	struct cudnn_plan *plan = NULL;
	int rc = conv_normed_cuda_engine(&plan, q->env->dev, q->env->plan->wisdom, &c);
	cudnn_plan_free(plan);
	if (rc < 0 && rc != E_UNSUPPORTED)
		q->rc = rc;
	return rc == 0;
}

static bool cudnn_has(struct questions *q, enum conv_kind kind, const struct conv_geom *geom)
{
	for (int i = 0; i < q->n; i++)
		if (q->a[i].kind == kind && memcmp(&q->a[i].geom, geom, sizeof *geom) == 0)
			return q->a[i].has;
	if (q->rc < 0)
		return false;
	q->a = mem_realloc(q->a, sizeof *q->a * ((size_t)q->n + 1));
	q->a[q->n] = (struct asked){ kind, *geom, ask(q, kind, geom) };
	return q->a[q->n++].has;
}

static bool engines_have(void *user, enum conv_kind kind, const struct conv_geom *geom)
{
	struct questions *q = user;
	if (geom->groups > 1)
		return conv_depthwise_normed(q->env->dev, geom);
	return q->env->plan->compute == DTYPE_F16 && cudnn_has(q, kind, geom);
}

int pass_prologue(struct graph *g, struct pass_env *env)
{
	struct questions q = { .env = env };
	if (env->backend != BACKEND_CUDA || !dtype_is_16bit(env->plan->compute))
		return 0;
	int rc = prologue_fold(g, &(struct prologue_engines){ engines_have, &q });
	mem_free(q.a);
	return rc < 0 ? rc : q.rc;
}

#else

int pass_prologue(struct graph *g, struct pass_env *env)
{
	return 0;
}

#endif
