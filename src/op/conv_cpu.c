/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions on the CPU. Activations stay channels-last, weights take the layout oneDNN likes
 * best for the first forward use and keep it; a gradient that oneDNN has no fast code for in that
 * layout asks for its own, and the layout pass puts a (small) reorder there.
 *
 * Why channels-last even for very few channels: on 2 cores (Zen 5, oneDNN 2.6.3), forward /
 * backward data / backward weights in ms:
 *
 *                              channels-last         oneDNN's own choice    row-major source
 *   5 -> 48, 3x3, 90x180    0.18 / 0.91 / 0.34        0.21 / 0.81 / 0.73    reference code, > 60
 *   48 -> 4, 1x1, 90x180    0.07 / 0.04 / 0.33        0.08 / 0.07 / 0.16    reference code, > 5
 *   48 -> 4, 3x3, 90x180    0.51 / 0.12 / 0.74        0.60 / 0.48 / 0.54    reference code, > 40
 *   48 -> 48, 3x3, 90x180   1.39 / 1.48 / 2.03        1.42 / 1.42 / 1.74    reference code
 *   3 -> 48, 7x7 / 2        0.10 / 0.58 / 0.19        0.11 / 0.58 / 0.13    reference code, > 40 */
#include "op/conv_cpu.h"

#include "backend/dnn.h"
#include "base/err.h"
#include "op/conv_geom.h"
#include "op/regroup.h"

struct conv_kernel {
	struct dnn_prim *prim;
	struct conv_geom geom;
	enum conv_kind kind;
	bool bias;                /* a bias, or its gradient, is an argument of the primitive */
	bool add_bias;            /* backward data with a bias: we add it */
	int64_t rows, inner;      /* add_bias: the result is rows x channels x inner */
};

/* Where a node keeps what the geometry calls x, w, y and bias. */
struct slots {
	struct layout *x, *w, *y, *bias;
};

static struct slots slots_of(enum conv_kind kind, struct layout *in, struct layout *out)
{
	switch (kind) {
	case CONV_BACKWARD_DATA: return (struct slots){ &out[0], &in[1], &in[0], &in[2] };
	case CONV_BACKWARD_WEIGHTS: return (struct slots){ &in[0], &out[0], &in[1], &out[1] };
	default: return (struct slots){ &in[0], &in[1], &out[0], &in[2] };
	}
}

static bool has_bias(const struct node *n, enum conv_kind kind)
{
	if (kind == CONV_BACKWARD_WEIGHTS)
		return n->nout > 1 && n->out[1] != NONE;
	return n->nin > 2 && n->in[2] != NONE;
}

/* The layout of the weights as oneDNN wants it. False if it cannot be said so. */
static bool split_groups(const struct layout *l, const struct conv_geom *c, struct layout *out)
{
	if (c->groups > 1 && l->nd == c->ns + 2)
		return layout_split_first(l, c->groups, out);
	*out = *l;
	return true;
}

/* Layouts to try in turn. */
struct candidate {
	enum { ACT_NATIVE, ACT_PLAIN, ACT_ANY } act;
	bool keep_w;              /* the layout the weights (their gradient) have already */
	bool reference;           /* oneDNN's reference code will do */
};

static const struct candidate candidates[] = {
	{ ACT_NATIVE, true, false }, { ACT_NATIVE, false, false },
	{ ACT_PLAIN, true, false },  { ACT_PLAIN, false, false },
	{ ACT_ANY, false, false },   { ACT_NATIVE, false, true },
};

static const struct layout *activation(const struct candidate *c, const struct shape *s,
                                       struct layout *store)
{
	if (c->act == ACT_ANY)
		return NULL;
	*store = c->act == ACT_NATIVE ? layout_native(s) : layout_plain(s);
	return store;
}

static int read_layouts(const struct dnn_prim *p, enum conv_kind kind, bool bias, struct slots *s)
{
	const int last = bias && kind == CONV_FORWARD ? 3 : 2;
	switch (kind) {
	case CONV_FORWARD:
		TRY(dnn_prim_layout(p, 0, s->x));
		TRY(dnn_prim_layout(p, 1, s->w));
		return dnn_prim_layout(p, last, s->y);
	case CONV_BACKWARD_DATA:
		TRY(dnn_prim_layout(p, 0, s->y));
		TRY(dnn_prim_layout(p, 1, s->w));
		return dnn_prim_layout(p, last, s->x);
	case CONV_BACKWARD_WEIGHTS:
		TRY(dnn_prim_layout(p, 0, s->x));
		TRY(dnn_prim_layout(p, 1, s->y));
		return dnn_prim_layout(p, last, s->w);
	}
	return 0;
}

/* 1 if oneDNN has good code for this candidate (s is filled then), 0 if not, or an error. */
static int try_candidate(const struct candidate *t, struct dnn_conv *c, const struct slots *s)
{
	const struct shape xs = conv_x_shape(&c->geom), ys = conv_y_shape(&c->geom);
	struct layout x, w, y, got[3];
	struct slots found = { &got[0], &got[1], &got[2], NULL };
	struct dnn_prim *p = NULL;
	const int mark = err_count();

	if (t->keep_w && (!s->w->set || !split_groups(s->w, &c->geom, &w)))
		return 0;
	c->x = activation(t, &xs, &x);
	c->y = activation(t, &ys, &y);
	c->w = t->keep_w ? &w : NULL;
	int rc = dnn_conv_new(&p, c);
	if (rc == 0 && dnn_prim_is_reference(p) && !t->reference)
		rc = E_UNSUPPORTED;
	if (rc == 0)
		rc = read_layouts(p, c->kind, c->bias, &found);
	dnn_prim_free(p);
	if (rc == E_UNSUPPORTED) {
		err_truncate(mark);
		return 0;
	}
	TRY(rc);
	*s->x = got[0];
	*s->w = t->keep_w ? *s->w : got[1];
	*s->y = got[2];
	return 1;
}

static int choose(struct kplan *k, enum conv_kind kind, struct layout *in, struct layout *out)
{
	const int n = (int)(sizeof candidates / sizeof *candidates);
	const bool bias = has_bias(k->n, kind);
	struct slots s = slots_of(kind, in, out);
	struct dnn_conv c = { .kind = kind, .geom = conv_geom_get(k->g, k->n, kind) };
	int64_t channels = kind == CONV_BACKWARD_DATA ? c.geom.ci : c.geom.co;
	const struct shape bs = shape_of(1, &channels);

	c.bias = bias && kind != CONV_BACKWARD_DATA;
	if (bias)
		*s.bias = layout_plain(&bs);
	for (int i = 0; i < n; i++) {
		if (candidates[i].act == ACT_ANY && bias && !c.bias)
			continue;         /* adding the bias ourselves wants a layout we know */
		int rc = try_candidate(&candidates[i], &c, &s);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return ERR(E_UNSUPPORTED, &k->n->loc, "oneDNN has no code for this convolution");
}

static const struct layout *tensor_layout(const struct kplan *k, tid t)
{
	return &graph_t(k->g, t)->layout;
}

/* Rows, channels and inner of the result, to which the bias is added. */
static int plan_bias(struct kplan *k, struct conv_kernel *ck)
{
	const struct shape s = conv_x_shape(&ck->geom);
	const struct layout *l = tensor_layout(k, k->n->out[0]);
	const int64_t spatial = shape_count(&s) / (ck->geom.n * ck->geom.ci);
	if (layout_is_native(l, &s)) {
		ck->rows = ck->geom.n * spatial;
		ck->inner = 1;
	} else if (layout_is_plain(l, &s)) {
		ck->rows = ck->geom.n;
		ck->inner = spatial;
	} else {
		return ERR(E_UNSUPPORTED, &k->n->loc, "a bias cannot be added in this layout");
	}
	return 0;
}

static int check_dtypes(const struct kplan *k)
{
	for (int i = 0; i < k->n->nin; i++)
		if (k->n->in[i] != NONE && graph_t(k->g, k->n->in[i])->dtype != DTYPE_F32)
			return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the cpu takes f32, not %s",
				   k->n->op->name, dtype_name(graph_t(k->g, k->n->in[i])->dtype));
	return 0;
}

/* The ways to write an activation's layout down: where an axis has one element its stride says
 * nothing, but oneDNN recognises layouts by all strides. */
static int spellings(const struct layout *l, const struct shape *s, struct layout *out)
{
	int n = 0;
	if (layout_is_native(l, s))
		out[n++] = layout_native(s);
	if (layout_is_plain(l, s))
		out[n++] = layout_plain(s);
	if (n == 0)
		out[n++] = *l;
	return n;
}

static int weight_argument(enum conv_kind kind)
{
	return kind == CONV_BACKWARD_WEIGHTS ? 2 : 1;
}

/* Keeps in *best what c makes if it is there and faster in kind than *best. w: what the weights
 * have; if c leaves them open, oneDNN must come to the same. */
static int improve(struct dnn_prim **best, const struct dnn_conv *c, const struct layout *w)
{
	const int mark = err_count();
	struct dnn_prim *p = NULL;
	struct layout got;
	int rc = dnn_conv_new(&p, c);
	if (rc == 0 && !c->w)
		rc = dnn_prim_layout(p, weight_argument(c->kind), &got);
	if (rc == E_UNSUPPORTED) {
		err_truncate(mark);
		rc = 0;
	} else if (rc == 0 && (c->w || layout_equal(&got, w))
	           && (!*best || (dnn_prim_is_reference(*best) && !dnn_prim_is_reference(p)))) {
		struct dnn_prim *old = *best;
		*best = p;
		p = old;
	}
	dnn_prim_free(p);
	return rc;
}

/* The best primitive for the layouts the tensors have now, over all ways to spell them. */
static int find_prim(const struct kplan *k, struct dnn_conv *c, const struct slots *s,
                     struct dnn_prim **out)
{
	const struct shape xs = conv_x_shape(&c->geom), ys = conv_y_shape(&c->geom);
	struct layout x[2], y[2], w;
	const int nx = spellings(s->x, &xs, x), ny = spellings(s->y, &ys, y);
	if (!split_groups(s->w, &c->geom, &w))
		return ERR(E_UNSUPPORTED, &k->n->loc,
			   "the weights' layout has blocks across groups");
	*out = NULL;
	for (int i = 0; i < nx * ny * 2; i++) {
		c->x = &x[i / 2 % nx];
		c->y = &y[i / 2 / nx];
		c->w = i % 2 ? NULL : &w;
		if (!*out || dnn_prim_is_reference(*out))
			TRY(improve(out, c, &w));
	}
	if (!*out)
		return ERR(E_UNSUPPORTED, &k->n->loc, "oneDNN has no code for this convolution");
	return 0;
}

static int plan(struct kplan *k, enum conv_kind kind)
{
	struct conv_kernel *ck = ARENA_NEW(k->arena, struct conv_kernel);
	struct layout in[3] = { 0 }, out[2] = { 0 };
	const struct slots s = slots_of(kind, in, out);
	struct dnn_conv c = { .kind = kind, .geom = conv_geom_get(k->g, k->n, kind) };

	TRY(check_dtypes(k));
	in[0] = *tensor_layout(k, k->n->in[0]);
	in[1] = *tensor_layout(k, k->n->in[1]);
	out[0] = *tensor_layout(k, k->n->out[0]);
	k->state = ck;
	ck->kind = kind;
	ck->geom = c.geom;
	ck->add_bias = has_bias(k->n, kind) && kind == CONV_BACKWARD_DATA;
	c.bias = ck->bias = has_bias(k->n, kind) && kind != CONV_BACKWARD_DATA;
	if (ck->add_bias)
		TRY(plan_bias(k, ck));
	TRY(find_prim(k, &c, &s, &ck->prim));
	TRY(dnn_prim_prepare(ck->prim));
	k->ws_bytes = dnn_prim_workspace(ck->prim);
	k->impl = arena_strdup(k->arena, dnn_prim_impl(ck->prim));
	return 0;
}

static void add_bias(const struct conv_kernel *ck, float *restrict y, const float *restrict b)
{
	const int64_t rows = ck->rows, channels = ck->geom.ci, inner = ck->inner;
#pragma omp parallel for schedule(static)
	for (int64_t r = 0; r < rows; r++) {
		float *restrict row = y + r * channels * inner;
		if (inner == 1)
			for (int64_t c = 0; c < channels; c++)
				row[c] += b[c];
		else
			for (int64_t c = 0; c < channels; c++)
				for (int64_t i = 0; i < inner; i++)
					row[c * inner + i] += b[c];
	}
}

int conv_run(const struct kplan *k, const struct kargs *a)
{
	const struct conv_kernel *ck = k->state;
	void *arg[4] = { a->in[0], a->in[1] };
	int narg = 2;
	if (ck->kind == CONV_FORWARD && ck->bias)
		arg[narg++] = a->in[2];
	arg[narg++] = a->out[0];
	if (ck->kind == CONV_BACKWARD_WEIGHTS && ck->bias)
		arg[narg++] = a->out[1];
	TRY(dnn_prim_run(ck->prim, arg, a->ws));
	if (ck->add_bias)
		add_bias(ck, a->out[0], a->in[2]);
	return 0;
}

void conv_free(struct kplan *k)
{
	struct conv_kernel *ck = k->state;
	if (ck)
		dnn_prim_free(ck->prim);
}

int conv_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return choose(k, CONV_FORWARD, in, out);
}

int conv_grad_input_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return choose(k, CONV_BACKWARD_DATA, in, out);
}

int conv_grad_weight_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return choose(k, CONV_BACKWARD_WEIGHTS, in, out);
}

int conv_plan(struct kplan *k)
{
	return plan(k, CONV_FORWARD);
}

int conv_grad_input_plan(struct kplan *k)
{
	return plan(k, CONV_BACKWARD_DATA);
}

int conv_grad_weight_plan(struct kplan *k)
{
	return plan(k, CONV_BACKWARD_WEIGHTS);
}
