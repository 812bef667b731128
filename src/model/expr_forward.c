/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forward-mode derivatives. Each row of a value depends only on the same row of a coordinate. So a
 * node is either linear, and is applied to the derivatives of its inputs as to the inputs
 * themselves; or it acts elementwise. Then its gradient rule, given the derivative of an input in
 * place of the gradient of its output, computes the product with the slope, because a diagonal
 * matrix is its own transpose. Any other node makes forward mode impossible, and all derivatives
 * are taken by reverse passes. */
#include "model/expr_forward.h"

#include <string.h>

#include "base/err.h"
#include "graph/derive.h"
#include "model/expr_stack.h"
#include "op/lib/elementwise.h"
#include "op/lib/emit.h"

/* The sum of second derivatives of y by each of n coordinates. */
struct second {
	struct second *next;
	tid y, sum;
	struct stream by;
};

/* --- what is known --- */

const struct derived *expr_derived(const struct expr_emission *m, tid y, tid x)
{
	for (const struct derived *d = m->derived; d; d = d->next)
		if (d->y == y && d->x == x)
			return d;
	return NULL;
}

void expr_remember(struct expr_emission *m, tid y, tid x, tid dx)
{
	struct derived *d = ARENA_NEW(m->v.arena, struct derived);
	*d = (struct derived){ m->derived, y, x, dx };
	m->derived = d;
}

static int add(struct expr_emission *m, tid a, tid b, tid *out)
{
	*out = a == NONE ? b : a;
	if (a == NONE || b == NONE)
		return 0;
	return graph_emit1(m->v.g, "add", NULL, 2, (tid[]){ a, b }, out);
}

void expr_refuse(struct expr_emission *m, const char *why)
{
	if (!m->refused)
		m->why = why;
	m->refused = true;
}

/* --- nodes --- */

/* Whether n is linear and keeps rows apart. */
static bool is_linear(const struct graph *g, const struct node *n)
{
	static const char *const names[] = { "concat", "slice", "broadcast", "reshape", "sum",
		"dense" };
	const struct shape *in = node_in_shape(g, n, 0), *out = node_out_shape(g, n, 0);
	bool named = false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		named |= strcmp(names[i], n->op->name) == 0;
	return named && in->nd == 2 && out->nd == 2 && in->d[0] == out->d[0];
}

static bool is_elementwise(const struct graph *g, const struct node *n)
{
	for (int k = 0; k < n->nin; k++)
		if (!shape_equal(node_in_shape(g, n, k), node_out_shape(g, n, 0)))
			return false;
	return n->op->flags & OP_ELEMENTWISE;
}

/* Applies the linear node n to the derivatives d of its inputs; d[i] NONE: zero. */
static int emit_linear(struct expr_emission *m, const struct node *n, const tid *d, tid *out)
{
	struct graph *g = m->v.g;
	const bool dense = strcmp(n->op->name, "dense") == 0;
	const int nin = dense ? 2 : n->nin;
	tid *in = ARENA_ARRAY(m->v.arena, tid, nin);
	for (int i = 0; i < nin; i++) {
		in[i] = dense && i ? n->in[i] : d[i];
		if (in[i] == NONE)
			TRY(emit_fill(g, 0, node_in_shape(g, n, i), &in[i]));
	}
	return graph_emit1(g, n->op->name, n->attr, nin, in, out);
}

/* d times the derivative of n by its input k; NONE: zero. */
static int emit_slope(struct expr_emission *m, const struct node *n, int k, tid d, tid *out)
{
	struct graph *g = m->v.g;
	const int before = g->nnode;
	tid dx[8] = { NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE };
	bool saved[8];
	*out = NONE;
	if (!passes_gradient(n, k))
		return 0;
	BUG_IF(n->nin > 8 || !n->op->grad, "'%s' acts on elements", n->op->name);
	for (int i = 0; i < n->nin; i++)
		saved[i] = graph_t(g, n->in[i])->requires_grad;
	for (int i = 0; i < n->nin; i++)
		graph_t(g, n->in[i])->requires_grad = n->in[i] == n->in[k];
	int rc = n->op->grad(g, n, &d, dx);
	for (int i = 0; i < n->nin; i++)
		graph_t(g, n->in[i])->requires_grad = saved[i];
	for (int i = before; i < g->nnode; i++)
		derive_requires_grad(g, g->node[i]);
	*out = dx[k];
	return rc;
}

static int emit_slopes(struct expr_emission *m, const struct node *n, const tid *d, tid *out)
{
	*out = NONE;
	for (int k = 0; k < n->nin; k++) {
		tid t = NONE;
		if (d[k] != NONE)
			TRY(emit_slope(m, n, k, d[k], &t));
		TRY(add(m, *out, t, out));
	}
	return 0;
}

static bool any_of(int n, const tid *d)
{
	for (int i = 0; i < n; i++)
		if (d[i] != NONE)
			return true;
	return false;
}

static const struct node *producer(const struct expr_emission *m, tid y)
{
	const nid n = graph_t(m->v.g, y)->producer;
	return n == NONE ? NULL : m->v.g->node[n];
}

/* --- first derivatives --- */

static int tangent_of_node(struct expr_emission *m, const struct node *n, tid x, tid *dy)
{
	tid *d = ARENA_ARRAY(m->v.arena, tid, n->nin);
	for (int i = 0; i < n->nin; i++)
		TRY(expr_tangent(m, n->in[i], x, &d[i]));
	if (!any_of(n->nin, d))
		return 0;
	if (is_linear(m->v.g, n))
		return emit_linear(m, n, d, dy);
	if (is_elementwise(m->v.g, n))
		return emit_slopes(m, n, d, dy);
	expr_refuse(m, arena_printf(m->v.arena, "not through '%s'", n->op->name));
	return 0;
}

static bool is_coordinate(const struct expr_emission *m, tid x)
{
	for (const struct leaf *l = m->leaves; l; l = l->next)
		if (l->t == x)
			return l->what == EXPR_COORDINATE;
	return false;
}

static int tangent(struct expr_emission *m, tid y, tid x, tid *dy)
{
	const struct node *n = producer(m, y);
	struct stack *k;
	struct stream s, d;
	if (y == x)
		return emit_fill(m->v.g, 1, &graph_t(m->v.g, y)->shape, dy);
	k = stack_find(m, y, &s);
	if (!k)
		return n ? tangent_of_node(m, n, x, dy) : 0;
	TRY(expr_tangent(m, k->x, x, dy));
	if (*dy == NONE)
		return 0;
	if (stream_derive(&s, x, &d))
		return stack_stream(m, k, &d, dy);
	expr_refuse(m, "the order is too high");
	*dy = NONE;
	return 0;
}

int expr_tangent(struct expr_emission *m, tid y, tid x, tid *dy)
{
	const struct derived *known = y == NONE ? NULL : expr_derived(m, y, x);
	*dy = known ? known->dx : NONE;
	if (y == NONE || known)
		return 0;
	if (!is_coordinate(m, x))
		expr_refuse(m, "not by what is no coordinate");
	TRY(tangent(m, y, x, dy));
	expr_remember(m, y, x, *dy);
	return 0;
}

/* --- sums of second derivatives --- */

static int one_by_one(struct expr_emission *m, tid y, const struct stream *by, tid *out)
{
	*out = NONE;
	for (int i = 0; i < by->n; i++) {
		tid t;
		TRY(expr_tangent(m, y, by->by[i], &t));
		TRY(expr_tangent(m, t, by->by[i], &t));
		TRY(add(m, *out, t, out));
	}
	return 0;
}

static int second(struct expr_emission *m, tid y, const struct stream *by, tid *out);

/* With p, the derivative of the input k of n by x, held fixed: that of (the slope by k times p). */
static int bend(struct expr_emission *m, const struct node *n, int k, tid x, tid *out)
{
	tid p, t;
	*out = NONE;
	TRY(expr_tangent(m, n->in[k], x, &p));
	if (p == NONE)
		return 0;
	/* A tensor of its own: elsewhere p itself is not held fixed. */
	const struct shape *s = &graph_t(m->v.g, p)->shape;
	const struct shape_attr same = { ints_make(m->v.g, s->nd, s->d) };
	TRY(graph_emit1(m->v.g, "reshape", &same, 1, &p, &p));
	expr_remember(m, p, x, NONE);
	TRY(emit_slope(m, n, k, p, &t));
	return expr_tangent(m, t, x, out);
}

static int second_of_node(struct expr_emission *m, const struct node *n, tid y,
                          const struct stream *by, tid *out)
{
	tid *d = ARENA_ARRAY(m->v.arena, tid, n->nin), t;
	const bool linear = is_linear(m->v.g, n);
	if (!linear && !is_elementwise(m->v.g, n))
		return one_by_one(m, y, by, out);
	for (int i = 0; i < n->nin; i++)
		TRY(second(m, n->in[i], by, &d[i]));
	if (linear)
		return any_of(n->nin, d) ? emit_linear(m, n, d, out) : 0;
	TRY(emit_slopes(m, n, d, out));
	for (int i = 0; i < by->n; i++)
		for (int k = 0; k < n->nin; k++) {
			TRY(bend(m, n, k, by->by[i], &t));
			TRY(add(m, *out, t, out));
		}
	return 0;
}

/* The sum of second derivatives of a network that depends on some of the coordinates. */
static int second_of_stack(struct expr_emission *m, struct stack *k, tid y, const struct stream *by,
                           tid *out)
{
	struct stream s = { .sum = true };
	for (int i = 0; i < by->n; i++) {
		tid t;
		TRY(expr_tangent(m, k->x, by->by[i], &t));
		if (t != NONE)
			s.by[s.n++] = by->by[i];
	}
	if (s.n > 1)
		return stack_stream(m, k, &s, out);
	return s.n ? one_by_one(m, y, &s, out) : 0;
}

static int second(struct expr_emission *m, tid y, const struct stream *by, tid *out)
{
	struct stream s;
	struct stack *k = stack_find(m, y, &s);
	const struct node *n = producer(m, y);
	*out = NONE;
	for (const struct second *known = m->seconds; known; known = known->next)
		if (known->y == y && stream_equal(&known->by, by)) {
			*out = known->sum;
			return 0;
		}
	if (k)
		TRY(s.n ? one_by_one(m, y, by, out) : second_of_stack(m, k, y, by, out));
	else if (n)
		TRY(second_of_node(m, n, y, by, out));
	struct second *made = ARENA_NEW(m->v.arena, struct second);
	*made = (struct second){ m->seconds, y, *out, *by };
	m->seconds = made;
	return 0;
}

int expr_sum_of_second(struct expr_emission *m, tid y, int n, const tid *x, tid *out)
{
	struct stream by = { .sum = true };
	BUG_IF(n > STREAM_AXES, "a sum of %d second derivatives", n);
	for (int i = 0; i < n; i++) {
		int k = by.n++;
		if (!is_coordinate(m, x[i]))
			expr_refuse(m, "not by what is no coordinate");
		for (; k > 0 && by.by[k - 1] > x[i]; k--)
			by.by[k] = by.by[k - 1];
		by.by[k] = x[i];
	}
	return second(m, y, &by, out);
}
