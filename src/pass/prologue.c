/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fused BN-ReLU prologue: where only convolutions and the gradients to their weights read
 * relu(norm(x)), these nodes read x and normalise it on the fly (op/conv/conv_normed.h), and the
 * normalised tensor is never stored. The convolution that computes the gradient to the norm's
 * result also applies ReLU's gradient and computes the norm's sums (op/conv/conv_norm_grad.c), if
 * there is one; the rest of the norm's gradient is one pass over memory:
 *
 *   batch_norm_relu_again, conv_statistics, conv_grad_weight   conv_statistics of x and the norm,
 *                                                              norm_conv_grad_weight
 *   conv_grad_input, batch_norm_relu_grad                      conv_grad_input_norm,
 *                                                              batch_norm_grad_rest
 *
 * This applies only where cuDNN has engines for the whole chain: normalising into the workspace
 * would cost what is gained. x is the output of conv_statistics, so neither concatenated channels
 * nor biased convolutions qualify.
 *
 * With cuDNN 9.19 that is so in fp16 for both inner norms of all sixteen blocks of ResNet-50:
 * engine 3 (compiled at run time) forward, 2 for the weights, 1 for the input (precompiled), with
 * 0.05 to 1 MB of workspace. The engines want packed channels in eights and ReLU without slope. 7 x
 * 7 windows have no engine to the weights, windows dilated by 12 none to either, and a view of
 * concatenated channels has one forward alone. In bf16 a gradient to the weights needs the
 * normalised tensor in memory, so the fusion would only move work to the backward part. Vectors are
 * float32 forward and to the input, fp16 to the weights; the value between scale and bias is
 * rounded to fp16, which costs digits where a channel's mean is several times its deviation.
 *
 * DLX_DEBUG=chains=no keeps norms as they are, and so does a described GPU without a driver, which
 * cannot say what cuDNN would compile. */
#include "pass/prologue.h"

#include <string.h>

#include "backend/plan_env.h"
#include "base/err.h"
#include "base/mem.h"
#include "graph/attr.h"
#include "op/conv/conv.h"
#include "op/conv/conv_geom.h"
#include "op/conv/conv_normed.h"
#include "pass/replace.h"

enum { MOST = 8 };            /* readers of a norm */

struct walk {
	struct graph *g;
	const struct prologue_engines *engines;
	struct node **order;         /* the new order; NULL: dropped */
	int n;
};

/* Places in the order. */
struct site {
	int norm, reader[MOST], readers, forward;      /* forward: how many of the readers are that */
	int data, grad;              /* -1: none */
};

static bool is(const struct node *n, const char *name)
{
	return n && strcmp(n->op->name, name) == 0;
}

static bool is_relu(const struct node *n)
{
	const double *slope = attr_find(n->op, n->attr, "slope", FT_FLOAT);
	return slope && *slope == 0;
}

static bool absent(const struct node *n, int from)
{
	for (int i = from; i < n->nin; i++)
		if (n->in[i] != NONE)
			return false;
	return true;
}

/* The first reader of t at or after place `from` of the
 * order, or -1; *input: its operand number. */
static int find_reader(const struct walk *w, tid t, int from, int *input)
{
	for (int i = from; i < w->n; i++)
		for (int k = 0; w->order[i] && k < w->order[i]->nin; k++)
			if (w->order[i]->in[k] == t) {
				*input = k;
				return i;
			}
	return -1;
}

static bool reads_plainly(const struct node *n)
{
	const bool weights = is(n, "conv_grad_weight") && (n->nout < 2 || n->out[1] == NONE);
	return absent(n, 2) && (weights || is(n, "conv_statistics"));
}

/* All readers of y; false if one of them needs it in memory. */
static bool find_readers(const struct walk *w, struct site *s)
{
	const tid y = w->order[s->norm]->out[0];
	int input;
	for (int i = find_reader(w, y, 0, &input); i >= 0; i = find_reader(w, y, i + 1, &input)) {
		const struct node *n = w->order[i];
		if (s->readers == MOST || input != 0 || n->in[1] == y || !reads_plainly(n))
			return false;
		s->forward += is(n, "conv_statistics");
		s->reader[s->readers++] = i;
	}
	return s->forward > 0;
}

static bool suits(const struct walk *w, const struct node *norm)
{
	const struct graph *g = w->g;
	if (!is(norm, "batch_norm_relu_again") || !absent(norm, 5) || !is_relu(norm) || graph_t(g, norm->out[0])->output)
		return false;
	const nid by = graph_t(g, norm->in[0])->producer;
	int input;
	if (by == NONE || !is(g->node[by], "conv_statistics"))
		return false;
	for (int i = find_reader(w, norm->in[0], 0, &input); i >= 0; i = find_reader(w, norm->in[0], i + 1, &input))
		if (w->order[i]->op->flags & OP_JOIN)
			return false;
	return true;
}

static bool has(const struct walk *w, const struct node *n, enum conv_kind kind)
{
	const struct conv_geom c = conv_geom_get(w->g, n, kind);
	return c.groups == 1 && w->engines->has(w->engines->user, kind, &c);
}

static bool readers_have_engines(const struct walk *w, const struct site *s)
{
	for (int i = 0; i < s->readers; i++) {
		const struct node *n = w->order[s->reader[i]];
		if (!has(w, n, is(n, "conv_statistics") ? CONV_FORWARD : CONV_BACKWARD_WEIGHTS))
			return false;
	}
	return true;
}

/* Finds the norm's gradient, and the convolution that alone makes its input. */
static void find_gradient(const struct walk *w, struct site *s)
{
	const struct node *norm = w->order[s->norm];
	int input, other;
	s->data = s->grad = -1;
	for (int i = find_reader(w, norm->in[0], 0, &input); i >= 0; i = find_reader(w, norm->in[0], i + 1, &input)) {
		const struct node *n = w->order[i];
		if (!is(n, "batch_norm_relu_grad") || input != 0 || !is_relu(n) || n->in[4] != norm->in[3] || n->in[5] != norm->in[4])
			continue;
		const tid dy = n->in[1];
		const nid by = graph_t(w->g, dy)->producer;
		if (by == NONE || !is(w->g->node[by], "conv_grad_input") || graph_t(w->g, dy)->output ||
		    find_reader(w, dy, 0, &other) != i || find_reader(w, dy, i + 1, &other) >= 0)
			continue;
		for (int k = 0; k < i; k++)
			if (w->order[k] == w->g->node[by] && absent(w->order[k], 2) && has(w, w->order[k], CONV_BACKWARD_DATA)) {
				s->data = k;
				s->grad = i;
				return;
			}
	}
}

/* Puts a new node at a place of the order. */
static int put(struct walk *w, int at, const char *name, int nin, const tid *in)
{
	struct node *made;
	TRY(replace_emit(w->g, w->order[at], name, NULL, nin, in, &made));
	w->order[at] = made;
	return 0;
}

/* Replaces a reader of y by one of x. */
static int fold_reader(struct walk *w, const struct node *norm, int at)
{
	struct node *old = w->order[at];
	const tid *m = norm->in, in[] = { m[0], old->in[1], NONE, m[1], m[2], m[3], m[4] };
	TRY(put(w, at, is(old, "conv_statistics") ? "conv_statistics" : "norm_conv_grad_weight", NORMED_INPUTS, in));
	for (int i = 0; i < w->order[at]->nout && i < old->nout; i++)
		replace_output(w->g, w->order[at], i, old->out[i]);
	old->nout = 0;
	return 0;
}

static int fold_gradient(struct walk *w, const struct site *s)
{
	struct node *data = w->order[s->data], *grad = w->order[s->grad];
	const tid *b = grad->in, in[] = { data->in[0], data->in[1], NONE, b[0], b[2], b[3], b[4], b[5] };
	TRY(put(w, s->data, "conv_grad_input_norm", 8, in));
	for (int i = 1; i < 3; i++)
		replace_output(w->g, w->order[s->data], i, grad->out[i]);
	const tid *made = w->order[s->data]->out, addend = grad->nin > 6 ? b[6] : NONE;
	const tid rest[] = { b[0], made[0], b[2], b[4], b[5], made[1], made[2], addend };
	TRY(put(w, s->grad, "batch_norm_grad_rest", addend == NONE ? 7 : 8, rest));
	replace_output(w->g, w->order[s->grad], 0, grad->out[0]);
	grad->nout = 0;
	return 0;
}

static int fold(struct walk *w, const struct site *s)
{
	struct node *norm = w->order[s->norm];
	for (int i = 0; i < s->readers; i++)
		TRY(fold_reader(w, norm, s->reader[i]));
	w->order[s->norm] = NULL;
	return s->data < 0 ? 0 : fold_gradient(w, s);
}

int prologue_fold(struct graph *g, const struct prologue_engines *engines)
{
	struct walk w = { g, engines, mem_alloc(sizeof *w.order * ((size_t)g->nnode + 1)), g->nnode };
	int rc = 0, left = 0;
	memcpy(w.order, g->node, sizeof *w.order * (size_t)w.n);
	for (int i = 0; i < w.n && rc == 0; i++) {
		struct site s = { .norm = i };
		if (!w.order[i] || !suits(&w, w.order[i]) || !find_readers(&w, &s) || !readers_have_engines(&w, &s))
			continue;
		find_gradient(&w, &s);
		rc = fold(&w, &s);
	}
	for (int i = 0; i < w.n; i++)
		if (w.order[i])
			w.order[left++] = w.order[i];
	if (rc == 0 && left < w.n)
		graph_reorder(g, w.order, left);
	mem_free(w.order);
	return rc;
}

/* --- with cuDNN --- */

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
	int n, rc;                   /* rc: what went wrong otherwise */
};

static bool ask(struct questions *q, enum conv_kind kind, const struct conv_geom *geom)
{
	const struct shape xs = conv_x_shape(geom), ws = conv_w_shape(geom), ys = conv_y_shape(geom);
	const struct layout x = layout_native(&xs), w = layout_native(&ws), y = layout_native(&ys);
	const struct cudnn_conv c = {
		.kind = kind, .geom = *geom, .type = DTYPE_F16, .x = &x, .w = &w, .y = &y, .statistics = kind == CONV_FORWARD,
		.deterministic = q->env->plan->deterministic };
	struct cudnn_plan *plan = NULL;
	const int rc = conv_normed_cuda_engine(&plan, q->env->dev, q->env->plan->wisdom, &c);
	cudnn_plan_free(plan);
	if (rc < 0 && rc != E_UNSUPPORTED)
		q->rc = rc;
	return rc == 0;
}

static bool cudnn_has(void *user, enum conv_kind kind, const struct conv_geom *geom)
{
	struct questions *q = user;
	for (int i = 0; i < q->n; i++)
		if (q->a[i].kind == kind && memcmp(&q->a[i].geom, geom, sizeof *geom) == 0)
			return q->a[i].has;
	if (q->rc < 0)
		return false;
	q->a = mem_realloc(q->a, sizeof *q->a * ((size_t)q->n + 1));
	q->a[q->n] = (struct asked){ kind, *geom, ask(q, kind, geom) };
	return q->a[q->n++].has;
}

int pass_prologue(struct graph *g, struct pass_env *env)
{
	struct questions q = { .env = env };
	if (env->backend != BACKEND_CUDA || env->plan->compute != DTYPE_F16)
		return 0;
	const int rc = prologue_fold(g, &(struct prologue_engines){ cudnn_has, &q });
	mem_free(q.a);
	return rc < 0 ? rc : q.rc;
}

#else

int pass_prologue(struct graph *g, struct pass_env *env)
{
	return 0;
}

#endif
