/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two traversals of the graph. The forward one computes each tensor's step along each axis: the
 * distance of its neighbouring elements in inputs, a fraction, so that no rounding errors
 * accumulate. A node's own step is found from the inputs of two distant outputs. The backward one
 * turns an interval of outputs into intervals of each tensor before it, and finally of the input;
 * op.reads gives the rows that a node reads. */
#include "pass/receptive_field.h"

#include <string.h>

#include "base/arena.h"
#include "base/round.h"
#include "graph/op.h"
#include "op/resize.h"

struct receptive {
	bool depends;                    /* it depends on the input */
	bool finite, exact;
	const struct node *why;
	struct receptive_axis axis[RECEPTIVE_AXES];    /* num, den */
};

/* The interval of a tensor that is needed along one axis. */
struct span {
	bool wanted;
	int64_t lo, hi;
};

struct search {
	const struct graph *g;
	int axes;
	tid input;
	struct receptive *of;                /* by tensor */
	struct span *span;                   /* by tensor */
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

static void multiply(struct receptive_axis *x, int64_t num, int64_t den)
{
	x->num *= num;
	x->den *= den;
	const int64_t d = common_divisor(x->num, x->den);
	x->num /= d;
	x->den /= d;
}

/* The fraction with the smallest denominator between a / b and c / d. */
static void simplest(int64_t a, int64_t b, int64_t c, int64_t d, int64_t *num, int64_t *den)
{
	const int64_t whole = a / b;
	if (whole * b == a || (whole + 1) * d <= c) {
		*num = whole * b == a ? whole : whole + 1;
		*den = 1;
		return;
	}
	simplest(d, c - whole * d, b, a - whole * b, den, num);
	*num += whole * *den;
}

/* An output index so large that it distinguishes fractions with denominators up to 2^17. */
#define FAR ((int64_t)1 << 36)

bool receptive_step(const struct graph *g, const struct node *n, int i, int k, int64_t *num,
                    int64_t *den)
{
	int64_t lo = 0, hi = 0, far = FAR, end = FAR;
	if (!n->op->reads || !n->op->reads(g, n, i, k + 2, &lo, &hi) ||
	    !n->op->reads(g, n, i, k + 2, &far, &end))
		return false;
	if (far - lo <= 1)               /* all outputs read the same place */
		return false;
	simplest(far - lo - 1, FAR, far - lo + 1, FAR, num, den);
	return true;
}

/* --- forward --- */

static bool has_axes(const struct search *s, const struct receptive *f)
{
	return s->axes > 0 && f->axis[0].num != 0;
}

static void lose(struct receptive *f, const struct node *n)
{
	if (f->finite)
		f->why = n;
	f->finite = false;
}

/* With aligned corners the step depends on the size, so no step is valid in general. */
static void look_at_resize(const struct search *s, const struct node *n, struct receptive *f, int k,
                           int64_t *num, int64_t *den)
{
	const struct shape *x = node_in_shape(s->g, n, 0), *y = node_out_shape(s->g, n, 0);
	if (resize_aligned(n)) {
		*num = x->d[k + 2];
		*den = y->d[k + 2];
		if (*num != *den)
			lose(f, n);
	}
	f->exact = f->exact && resize_repeats(s->g, n, k + 2, *num, *den);
}

/* The dependence of out[0] of n on the input through in[i]. */
static struct receptive through(const struct search *s, const struct node *n, int i)
{
	struct receptive f = s->of[n->in[i]];
	if (!has_axes(s, &f)) {
		lose(&f, n);
		return f;
	}
	for (int k = 0; k < s->axes; k++) {
		int64_t num, den;
		if (node_out_shape(s->g, n, 0)->nd != s->axes + 2 ||
		    !receptive_step(s->g, n, i, k, &num, &den)) {
			lose(&f, n);
			memset(f.axis, 0, sizeof f.axis);
			return f;
		}
		if (strcmp(n->op->name, "resize") == 0)
			look_at_resize(s, n, &f, k, &num, &den);
		multiply(&f.axis[k], num, den);
	}
	return f;
}

/* The union of two dependences. Different steps have no common moving window. */
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
	for (int k = 0; k < s->axes; k++)
		if (f->axis[k].num != b->axis[k].num || f->axis[k].den != b->axis[k].den)
			lose(f, n);
}

static void visit(const struct search *s, const struct node *n, int64_t stride[])
{
	struct receptive f = { 0 };
	for (int i = 0; i < n->nin; i++) {
		if (n->in[i] == NONE || !s->of[n->in[i]].depends)
			continue;
		const struct receptive b = through(s, n, i);
		if (f.depends)
			unite(s, n, &f, &b);
		else
			f = b;
	}
	for (int i = 0; i < n->nout && f.depends; i++)
		if (n->out[i] != NONE)
			s->of[n->out[i]] = f;
	for (int k = 0; k < s->axes && has_axes(s, &f); k++)
		stride[k] *= f.axis[k].num / common_divisor(stride[k], f.axis[k].num);
}

/* --- backward --- */

static void want(struct span *x, int64_t lo, int64_t hi)
{
	if (hi < lo)
		return;
	x->lo = x->wanted && x->lo < lo ? x->lo : lo;
	x->hi = x->wanted && x->hi > hi ? x->hi : hi;
	x->wanted = true;
}

/* The interval needed of n's outputs, in positions of out[0]; false: it cannot be determined from
 * these. */
static bool wanted_of(const struct search *s, const struct node *n, struct span *out)
{
	*out = (struct span){ false };
	for (int i = 0; i < n->nout; i++) {
		const struct span *x = n->out[i] == NONE ? out : &s->span[n->out[i]];
		if (!x->wanted)
			continue;
		if (!shape_equal(node_out_shape(s->g, n, i), node_out_shape(s->g, n, 0)))
			return false;
		want(out, x->lo, x->hi);
	}
	return true;
}

static bool walk_back(const struct search *s, const struct node *n, int k)
{
	struct span out;
	if (!wanted_of(s, n, &out))
		return false;
	for (int i = 0; i < n->nin && out.wanted; i++) {
		int64_t lo = out.lo, hi = out.hi;
		if (n->in[i] == NONE || !s->of[n->in[i]].depends)
			continue;
		if (!n->op->reads || !n->op->reads(s->g, n, i, k + 2, &lo, &hi))
			return false;
		want(&s->span[n->in[i]], lo, hi);
	}
	return true;
}

static bool find_interval(const struct search *s, tid output, int k, int64_t *lo, int64_t *hi)
{
	memset(s->span, 0, sizeof *s->span * (size_t)s->g->ntensor);
	want(&s->span[output], *lo, *hi);
	for (int i = s->g->nnode - 1; i >= 0; i--)
		if (!walk_back(s, s->g->node[i], k))
			return false;
	if (!s->span[s->input].wanted)
		return false;
	*lo = s->span[s->input].lo;
	*hi = s->span[s->input].hi;
	return true;
}

/* --- both --- */

static struct search search_new(struct arena *a, const struct graph *g, tid input, int64_t stride[])
{
	struct search s = { g, graph_t(g, input)->shape.nd - 2, input,
		ARENA_ARRAY(a, struct receptive, g->ntensor), ARENA_ARRAY(a, struct span, g->ntensor) };
	s.axes = s.axes < 0 ? 0 : s.axes > RECEPTIVE_AXES ? RECEPTIVE_AXES : s.axes;
	s.of[input] = (struct receptive){ .depends = true, .finite = true, .exact = true };
	for (int k = 0; k < RECEPTIVE_AXES; k++) {
		stride[k] = 1;
		s.of[input].axis[k] = (struct receptive_axis){ .num = k < s.axes, .den = 1 };
	}
	for (int i = 0; i < g->nnode; i++)
		visit(&s, g->node[i], stride);
	return s;
}

static int64_t first_of(const struct search *s, tid output, int k, int64_t o)
{
	int64_t hi = o;
	find_interval(s, output, k, &o, &hi);
	return o;
}

static int64_t last_of(const struct search *s, tid output, int k, int64_t o)
{
	int64_t lo = o;
	find_interval(s, output, k, &lo, &o);
	return o;
}

/* Both ends grow with the output, by num / den on average, so the first guess is almost right. */
static void find_ends(const struct search *s, tid output, int k, struct receptive_axis *x)
{
	const int64_t last = graph_t(s->g, s->input)->shape.d[k + 2] - 1;
	x->lo = first_of(s, output, k, 0);
	x->hi = last_of(s, output, k, 0);
	x->begin = x->lo < 0 ? -x->lo * x->den / x->num : 0;
	while (first_of(s, output, k, x->begin) < 0)
		x->begin++;
	while (x->begin > 0 && first_of(s, output, k, x->begin - 1) >= 0)
		x->begin--;
	x->end = floor_div((last - x->hi) * x->den, x->num);
	while (last_of(s, output, k, x->end) <= last)
		x->end++;
	while (last_of(s, output, k, x->end - 1) > last)
		x->end--;
}

void receptive_field_find(const struct graph *g, tid input, tid output, struct receptive_field *out)
{
	struct arena *a = arena_new();
	const struct shape *y = &graph_t(g, output)->shape;
	*out = (struct receptive_field){ 0 };
	const struct search s = search_new(a, g, input, out->stride);
	const struct receptive *f = &s.of[output];
	out->axes = s.axes;
	out->finite = f->depends && f->finite && y->nd == s.axes + 2;
	out->exact = f->exact;
	out->why = f->why;
	memcpy(out->axis, f->axis, sizeof f->axis);
	for (int k = 0; k < s.axes && y->nd == s.axes + 2; k++) {
		out->axis[k].extent = y->d[k + 2];
		if (out->finite)
			find_ends(&s, output, k, &out->axis[k]);
	}
	arena_free(a);
}

bool receptive_interval(const struct graph *g, tid input, tid output, int k, int64_t *lo,
                        int64_t *hi)
{
	struct arena *a = arena_new();
	int64_t stride[RECEPTIVE_AXES];
	const struct search s = search_new(a, g, input, stride);
	const bool found = find_interval(&s, output, k, lo, hi);
	arena_free(a);
	return found;
}
