/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The indices that resize reads along one axis, and their weights. Positions are quotients of
 * integers, and a weight is a remainder divided by the denominator, rounded once. So the weights of
 * equal fractional positions are bit-equal, however large the sizes are. */
#include <math.h>

#include "base/round.h"
#include "op/lib/elementwise.h"
#include "op/resize.h"

struct resize_axis resize_axis_of(const struct resize *at, int axes, int a, int64_t in,
                                  int64_t out)
{
	struct resize_axis x = { at, in, out, 0, 0, in };
	if (at->whole.n) {
		x.in = at->whole.v[a];
		x.out = at->whole.v[axes + a];
	}
	if (at->at.n) {
		x.from = at->at.v[a];
		x.to = at->at.v[axes + a];
	}
	return x;
}

/* A position as a quotient, whose denominator is positive. */
struct position {
	int64_t num, den;
};

/* The position of index o, which may be outside [0, n). For area: the start of the area. */
static struct position position_of(const struct resize_axis *x, int64_t o)
{
	if (x->at->mode != RESIZE_BILINEAR)
		return (struct position){ o * x->in, x->out };
	if (!x->at->align_corners)
		return (struct position){ (2 * o + 1) * x->in - x->out, 2 * x->out };
	return (struct position){ x->out > 1 ? o * (x->in - 1) : 0, x->out > 1 ? x->out - 1 : 1 };
}

static struct resize_source area_of(int64_t first, int64_t end)
{
	const double w = 1 / (double)(end - first);
	return (struct resize_source){ first, end - first, { w, w } };
}

/* Computed in float32, as in PyTorch: where o * in / out is nearly an integer, its rounding decides
 * the result. */
static int64_t nearest_of(const struct resize_axis *x, int64_t o)
{
	int64_t i = (int64_t)floorf((float)o * ((float)x->in / (float)x->out));
	return i < x->in ? i : x->in - 1;
}

/* The sources of index o of the whole, as indices of the whole. */
static struct resize_source whole_source(const struct resize_axis *x, int64_t o)
{
	if (x->at->mode == RESIZE_AREA)
		return area_of(o * x->in / x->out, ceil_div((o + 1) * x->in, x->out));
	if (x->at->mode == RESIZE_NEAREST)
		return (struct resize_source){ nearest_of(x, o), 1, { 1, 0 } };
	struct position p = position_of(x, o);
	p.num = p.num > 0 ? p.num : 0;
	const int64_t i = p.num / p.den;
	const double w = (double)(p.num % p.den) / (double)p.den;
	if (i >= x->in - 1)
		return (struct resize_source){ x->in - 1, 1, { 1, 0 } };
	return (struct resize_source){ i, 2, { 1 - w, w } };
}

struct resize_source resize_source_of(const struct resize_axis *x, int64_t o)
{
	struct resize_source s = whole_source(x, x->to + o);
	int64_t first = s.first - x->from, end = first + s.n;
	s.first = first;
	if (first >= 0 && end <= x->n)
		return s;
	first = first < 0 ? 0 : first < x->n ? first : x->n - 1;
	end = end <= first ? first + 1 : end < x->n ? end : x->n;
	return area_of(first, end);
}

static bool power_of_two(int64_t n)
{
	return (n & (n - 1)) == 0;
}

/* Whether float32 is exact enough that no nearest index is rounded to a neighbour. */
static bool nearest_exact(const struct resize_axis *x)
{
	int64_t a = x->in, b = x->out;
	while (b) {
		const int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return power_of_two(x->in / a) && power_of_two(x->out / a);
}

static struct resize_axis axis_of_node(const struct graph *g, const struct node *n, int axis)
{
	const struct shape *in = node_in_shape(g, n, 0), *out = node_out_shape(g, n, 0);
	return resize_axis_of(n->attr, in->nd - 2, axis - 2, in->d[axis], out->d[axis]);
}

bool resize_reads(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                  int64_t *hi)
{
	const struct resize *at = n->attr;
	const struct resize_axis x = axis_of_node(g, n, axis);
	const int64_t slack = at->mode == RESIZE_NEAREST && !nearest_exact(&x);
	const struct position first = position_of(&x, *lo),
	                      last = position_of(&x, *hi + (at->mode == RESIZE_AREA));
	*lo = floor_div(first.num, first.den) - slack;
	*hi = at->mode == RESIZE_NEAREST ? floor_div(last.num, last.den) + slack
	                                 : -floor_div(-last.num, last.den) - (at->mode == RESIZE_AREA);
	return true;
}

bool resize_repeats(const struct graph *g, const struct node *n, int axis, int64_t num, int64_t den)
{
	const struct resize *at = n->attr;
	const struct resize_axis x = axis_of_node(g, n, axis);
	bool same = true;
	for (int64_t o = 0; at->mode == RESIZE_NEAREST && o + den < x.out; o++)
		same &= nearest_of(&x, o + den) == nearest_of(&x, o) + num;
	return same;
}

bool resize_aligned(const struct node *n)
{
	return ((const struct resize *)n->attr)->align_corners;
}
