/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each tensor gets, for each spatial axis, a map from its indices to an interval of the input's: a
 * step num / den and the distances lo and hi. A window of k elements at dilation d, which begins at
 * s o - p of its input, composes to
 *
 *   num / den *= s,   lo -= p num / den,   hi += (d (k - 1) - p) num / den
 *
 * with num / den as before, and a transposed convolution, whose output o reads its input from
 * (o + p - d (k - 1)) / s to (o + p) / s, likewise. An output between inputs may read none of them
 * and be the bias; but those that a part of the input from a to b makes begin at s a and end at
 * s b + d (k - 1) - p - q, with q the padding at the end, and others are taken for zeros there. So
 * the interval is wide enough to make each output. The steps are fractions, so that no rounding
 * adds up; lo and hi are sums of their products with small integers. */
#include "pass/receptive_field.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "graph/op.h"
#include "op/conv/conv_shape.h"
#include "op/lib/elementwise.h"
#include "op/lib/slice.h"
#include "op/lib/window.h"
#include "op/norm/group_norm.h"
#include "op/resize.h"

#define SLACK 1e-6            /* sums of thirds are not exact */

struct receptive {
	bool depends;                    /* on the input at all */
	bool finite, exact;
	const struct node *why;
	struct receptive_axis axis[RECEPTIVE_AXES];
};

struct search {
	const struct graph *g;
	int axes;
	struct receptive *of;                /* by tensor */
};

/* --- steps --- */

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

static double step_of(const struct receptive_axis *x)
{
	return (double)x->num / (double)x->den;
}

static void multiply(struct receptive_axis *x, int64_t num, int64_t den)
{
	x->num *= num;
	x->den *= den;
	const int64_t d = common_divisor(x->num, x->den);
	x->num /= d;
	x->den /= d;
}

/* --- rules: from the field of input 0, in *f, to that of output 0 --- */

static void lose(struct receptive *f, const struct node *n)
{
	if (f->finite)
		f->why = n;
	f->finite = false;
}

/* No axis of the output is one of the input's. */
static void forget(const struct search *s, const struct node *n, struct receptive *f)
{
	lose(f, n);
	memset(f->axis, 0, sizeof f->axis);
}

static void slide(struct receptive_axis *x, int64_t stride, int64_t pad, int64_t reach)
{
	const double step = step_of(x);
	x->lo -= (double)pad * step;
	x->hi += (double)(reach - pad) * step;
	multiply(x, stride, 1);
}

static void conv_rule(const struct search *s, const struct node *n, struct receptive *f)
{
	const struct conv_geom c = conv_geom_get(s->g, n, CONV_FORWARD);
	for (int k = 0; k < s->axes; k++)
		slide(&f->axis[k], c.stride[k], c.pad_lo[k], c.dilation[k] * (c.kernel[k] - 1));
}

static void conv_transpose_rule(const struct search *s, const struct node *n, struct receptive *f)
{
	const struct conv_geom c = conv_geom_get(s->g, n, CONV_BACKWARD_DATA);
	for (int k = 0; k < s->axes; k++) {
		struct receptive_axis *x = &f->axis[k];
		const int64_t reach = c.dilation[k] * (c.kernel[k] - 1), between = c.stride[k] - 1,
		              lo = c.pad_lo[k] - reach, hi = lo + c.pad_hi[k] + between;
		multiply(x, 1, c.stride[k]);
		x->lo += (double)(lo < -between ? lo : -between) * step_of(x);
		x->hi += (double)(hi > c.pad_lo[k] ? hi : c.pad_lo[k]) * step_of(x);
	}
}

static void pool_rule(const struct search *s, const struct node *n, struct receptive *f)
{
	const struct window w = window_get(s->g, n);
	for (int k = 0; k < s->axes; k++) {
		const int a = 3 - s->axes + k;
		slide(&f->axis[k], w.s[a], w.lo[a], w.k[a] - 1);
	}
}

static bool power_of_two(int64_t n)
{
	return (n & (n - 1)) == 0;
}

/* Index o reads about (o + 1/2) in / out - 1/2, or o in / out if the nearest one is meant. */
static void resize_rule(const struct search *s, const struct node *n, struct receptive *f)
{
	const struct shape *in = node_in_shape(s->g, n, 0), *out = node_out_shape(s->g, n, 0);
	const struct resize *at = n->attr;
	for (int k = 0; k < s->axes; k++) {
		struct receptive_axis *x = &f->axis[k];
		const int64_t from = in->d[k + 2], to = out->d[k + 2], d = common_divisor(from, to);
		const double step = step_of(x), ratio = (double)from / (double)to;
		const bool whole = from % to == 0 || to % from == 0;
		if (from == to)
			continue;
		/* means of windows: their number is of the whole */
		if (at->align_corners || !whole || at->mode == RESIZE_AREA)
			lose(f, n);
		const bool exact = power_of_two(from / d) && power_of_two(to / d);
		const double about = at->mode == RESIZE_NEAREST ? 0 : 0.5 * ratio - 0.5,
		             width = at->mode == RESIZE_NEAREST && exact ? 0 : 1;
		f->exact = f->exact && exact;
		x->lo += (about - width) * step;
		x->hi += (about + width) * step;
		multiply(x, from / d, to / d);
		if (at->mode == RESIZE_NEAREST && exact)        /* floor(o in / out) */
			x->lo -= fmax(0, 1 - ratio) * step;
	}
}

static void slice_rule(const struct search *s, const struct node *n, struct receptive *f)
{
	const struct slice *at = n->attr;
	if (at->axis < 2)
		return;
	struct receptive_axis *x = &f->axis[at->axis - 2];
	x->lo += (double)at->begin * step_of(x);
	x->hi += (double)at->begin * step_of(x);
}

static void pad_rule(const struct search *s, const struct node *n, struct receptive *f)
{
	const struct pad *at = n->attr;
	for (int k = 0; k < s->axes; k++) {
		f->axis[k].lo -= (double)at->before.v[k + 2] * step_of(&f->axis[k]);
		f->axis[k].hi -= (double)at->before.v[k + 2] * step_of(&f->axis[k]);
	}
}

/* Element by element, or along axes that are not spatial. */
static void point_rule(const struct search *s, const struct node *n, struct receptive *f)
{
	const struct shape *in = node_in_shape(s->g, n, 0), *out = node_out_shape(s->g, n, 0);
	for (int k = 0; k < s->axes; k++)
		if (in->nd != s->axes + 2 || out->nd != in->nd || in->d[k + 2] != out->d[k + 2]) {
			forget(s, n, f);
			return;
		}
}

/* A norm over the channels of each point is of that point alone. */
static void group_norm_rule(const struct search *s, const struct node *n, struct receptive *f)
{
	if (((const struct group_norm *)n->attr)->by_point)
		point_rule(s, n, f);
	else
		forget(s, n, f);
}

/* concat joins channels; of other axes no map of one interval is known. */
static void concat_rule(const struct search *s, const struct node *n, struct receptive *f)
{
	const struct shape *in = node_in_shape(s->g, n, 0), *out = node_out_shape(s->g, n, 0);
	for (int k = 2; k < in->nd && k < out->nd; k++)
		if (in->d[k] != out->d[k])
			lose(f, n);
}

static const struct {
	const char *op;
	void (*rule)(const struct search *s, const struct node *n, struct receptive *f);
} rules[] = {
	{ "conv", conv_rule }, { "conv_grad_input", conv_transpose_rule }, { "max_pool", pool_rule },
	{ "average_pool", pool_rule }, { "resize", resize_rule }, { "slice", slice_rule },
	{ "pad", pad_rule },
	{ "concat", concat_rule }, { "add", point_rule }, { "subtract", point_rule },
	{ "multiply", point_rule },
	{ "divide", point_rule }, { "scale", point_rule }, { "scale_by", point_rule },
	{ "relu", point_rule },
	{ "elu", point_rule }, { "gelu", point_rule }, { "leaky_relu", point_rule },
	{ "silu", point_rule }, { "softmax", point_rule }, { "tanh", point_rule },
	{ "sigmoid", point_rule }, { "softplus", point_rule },
	{ "square", point_rule }, { "sqrt", point_rule }, { "exp", point_rule }, { "log", point_rule },
	{ "log1p", point_rule }, { "expm1", point_rule }, { "sin", point_rule },
	{ "cos", point_rule }, { "abs", point_rule }, { "pow", point_rule },
	{ "minimum", point_rule }, { "maximum", point_rule },
	{ "batch_norm_inference", point_rule }, { "group_norm", group_norm_rule },
	{ "normalize_input", point_rule },
	{ "cast", point_rule },
	{ "sum", point_rule }, { "mean", point_rule }, { "max", point_rule },
	{ "broadcast", point_rule },
	{ "reshape", point_rule },
};

static void apply(const struct search *s, const struct node *n, struct receptive *f)
{
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (strcmp(rules[i].op, n->op->name) == 0) {
			rules[i].rule(s, n, f);
			return;
		}
	forget(s, n, f);
}

/* --- joining the inputs of a node --- */

static bool has_axes(const struct search *s, const struct receptive *f)
{
	return s->axes > 0 && f->axis[0].num != 0;
}

/* What depends on f or on b. Steps that differ follow no common interval. */
static void unite(const struct search *s, const struct node *n, struct receptive *f,
                  const struct receptive *b)
{
	if (!b->finite && f->finite)
		f->why = b->why;
	f->finite = f->finite && b->finite;
	f->exact = f->exact && b->exact;
	if (!has_axes(s, b))
		return;
	if (!has_axes(s, f)) {
		memcpy(f->axis, b->axis, sizeof f->axis);
		return;
	}
	for (int k = 0; k < s->axes; k++) {
		if (f->axis[k].num != b->axis[k].num || f->axis[k].den != b->axis[k].den)
			lose(f, n);
		f->axis[k].lo = fmin(f->axis[k].lo, b->axis[k].lo);
		f->axis[k].hi = fmax(f->axis[k].hi, b->axis[k].hi);
	}
}

static struct receptive join(const struct search *s, const struct node *n)
{
	struct receptive f = { 0 };
	for (int i = 0; i < n->nin; i++) {
		const struct receptive *b = n->in[i] == NONE ? NULL : &s->of[n->in[i]];
		if (!b || !b->depends)
			continue;
		if (f.depends)
			unite(s, n, &f, b);
		else
			f = *b;
	}
	return f;
}

/* Rules read the geometry of input 0, so the input that depends must be that one. */
static bool first_depends(const struct search *s, const struct node *n)
{
	return n->nin > 0 && n->in[0] != NONE && s->of[n->in[0]].depends;
}

static void visit(const struct search *s, const struct node *n, int64_t stride[])
{
	struct receptive f = join(s, n);
	if (!f.depends)
		return;
	if (!has_axes(s, &f))
		lose(&f, n);
	else if (first_depends(s, n) && has_axes(s, &s->of[n->in[0]]))
		apply(s, n, &f);
	else if (strcmp(n->op->name, "add") != 0 && strcmp(n->op->name, "multiply") != 0)
		lose(&f, n);
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE)
			s->of[n->out[i]] = f;
	for (int k = 0; k < s->axes && has_axes(s, &f); k++)
		stride[k] *= f.axis[k].num / common_divisor(stride[k], f.axis[k].num);
}

void receptive_field_find(const struct graph *g, tid input, tid output, struct receptive_field *out)
{
	struct arena *a = arena_new();
	struct search s = { g, graph_t(g, input)->shape.nd - 2,
		ARENA_ARRAY(a, struct receptive, g->ntensor) };
	const struct shape *y = &graph_t(g, output)->shape;
	s.axes = s.axes < 0 ? 0 : s.axes > RECEPTIVE_AXES ? RECEPTIVE_AXES : s.axes;
	*out = (struct receptive_field){ .axes = s.axes };
	s.of[input] = (struct receptive){ .depends = true, .finite = true, .exact = true };
	for (int k = 0; k < RECEPTIVE_AXES; k++) {
		out->stride[k] = 1;
		s.of[input].axis[k] = (struct receptive_axis){ .num = k < s.axes, .den = 1 };
	}
	for (int i = 0; i < g->nnode; i++)
		visit(&s, g->node[i], out->stride);
	const struct receptive *f = &s.of[output];
	out->finite = f->depends && f->finite && y->nd == s.axes + 2;
	out->exact = f->exact;
	out->why = f->why;
	memcpy(out->axis, f->axis, sizeof f->axis);
	for (int k = 0; k < s.axes && y->nd == s.axes + 2; k++)
		out->axis[k].extent = y->d[k + 2];
	arena_free(a);
}

bool receptive_field_knows(const char *op)
{
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (strcmp(rules[i].op, op) == 0)
			return true;
	return false;
}

int64_t receptive_first(const struct receptive_field *r, int k, int64_t i)
{
	const struct receptive_axis *x = &r->axis[k];
	return (int64_t)ceil((double)(i * x->num) / (double)x->den + x->lo - SLACK);
}

int64_t receptive_last(const struct receptive_field *r, int k, int64_t i)
{
	const struct receptive_axis *x = &r->axis[k];
	return (int64_t)floor((double)(i * x->num) / (double)x->den + x->hi + SLACK);
}
