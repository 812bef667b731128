/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derivatives with respect to coordinates. Each row of a value depends only on the same row of a
 * coordinate, so the gradient of the sum over rows has the derivative of each row. Forward mode is
 * used where possible (expr_forward.c), else reverse passes over the graph, one for each component
 * and order. */
#include "model/expr_derive.h"

#include <string.h>

#include "base/err.h"
#include "model/expr_forward.h"
#include "model/streams.h"
#include "op/lib/emit.h"
#include "pass/autodiff.h"

#define MAX_COORDINATES 64

int expr_differentiate(struct expr_emission *m, tid y, int nx, const tid *x, tid *dx)
{
	struct graph *g = m->v.g;
	const int before = g->nnode;
	TRYC(autodiff(g, 1, &y, NULL, nx, x, dx), "in a derivative at line %d, column %d",
	     g->cur_loc.line, g->cur_loc.col);
	for (int i = before; i < g->nnode; i++)
		g->node[i]->phase = g->cur_phase;
	return 0;
}

/* The tensors that may be derived by here. */
static int all_coordinates(const struct expr_emission *m, const struct site *f, tid *x)
{
	int n = 0;
	for (int i = 0; i < f->nbound && n < MAX_COORDINATES; i++)
		if (f->bound[i].derivable)
			x[n++] = f->bound[i].value;
	for (const struct leaf *l = f->bound ? NULL : m->leaves; l && n < MAX_COORDINATES; l = l->next)
		if (l->what == EXPR_COORDINATE && l->set == f->set)
			x[n++] = l->t;
	return n;
}

/* y, (rows, 1), derived by x; NONE: it does not depend on it. */
static int derive(struct expr_emission *m, const struct site *f, tid y, tid x, tid *out)
{
	tid all[MAX_COORDINATES + 1], dx[MAX_COORDINATES + 1];
	const struct derived *known = y == NONE ? NULL : expr_derived(m, y, x);
	*out = NONE;
	if (y == NONE)
		return 0;
	if (m->how != BY_REVERSE)
		return expr_tangent(m, y, x, out);
	if (!known) {
		int n = all_coordinates(m, f, all);
		TRY(expr_differentiate(m, y, n, all, dx));
		for (int i = 0; i < n; i++)
			expr_remember(m, y, all[i], dx[i]);
		known = expr_derived(m, y, x);
	}
	*out = known ? known->dx : NONE;
	return 0;
}

static int add(struct expr_emission *m, tid a, tid b, tid *out)
{
	*out = a == NONE ? b : a;
	if (a == NONE || b == NONE)
		return 0;
	return graph_emit1(m->v.g, "add", NULL, 2, (tid[]){ a, b }, out);
}

/* The coordinates that e derives by: those it names, in the order of the set's, so that d(u, x, t)
 * and d(u, t, x) are one; else those of the set that are spatial. */
static int coordinates(struct expr_emission *m, const struct site *f, const struct expr *e, tid *x,
                       int *n)
{
	const struct expr_set *set = f->set >= 0 ? &m->s->set[f->set] : NULL;
	*n = 0;
	for (int i = 0; e->n == 1 && set && i < set->naxis && *n < MAX_COORDINATES; i++)
		if (set->axis[i].spatial)
			TRY(expr_leaf(m, f->set, EXPR_COORDINATE, set->axis[i].name, &x[(*n)++]));
	for (int i = 1; i < e->n; i++) {
		const struct expr_bound *b = expr_find_bound(f->nbound, f->bound, e->arg[i]->name);
		tid t = b ? b->value : NONE;
		if (!b)
			TRY(expr_leaf(m, f->set, EXPR_COORDINATE, e->arg[i]->name, &t));
		int k = (*n)++;
		for (; k > 0 && e->function == CALL_DERIVE && x[k - 1] > t; k--)
			x[k] = x[k - 1];
		x[k] = t;
	}
	return 0;
}

/* Component i of the normals of the set. */
static int normal(struct expr_emission *m, const struct site *f, int i, tid *out)
{
	struct leaf *l = m->leaves;
	while (l && !(l->what == EXPR_NETWORK && l->set == f->set))
		l = l->next;
	if (!l) {
		l = ARENA_NEW(m->v.arena, struct leaf);
		*l = (struct leaf){ m->leaves, f->set, EXPR_NETWORK, "", NONE };
		TRY(m->host->normal(m->host->user, m->v.g, f->set, &l->t));
		m->leaves = l;
	}
	const struct value v = value_of(m->v.g, l->t, f->set);
	return value_part(&m->v, &v, i, out);
}

/* What e makes of component k of v, in one component; NONE: zero. */
static int one_component(struct expr_emission *m, const struct site *f, const struct expr *e,
                         const struct value *v, int k, int n, const tid *x, tid *out)
{
	tid y, t, normals;
	TRY(value_part(&m->v, v, k, &y));
	*out = NONE;
	if (e->function == CALL_LAPLACIAN && m->how == BY_SUMS && n > 1 && n <= STREAM_AXES)
		return expr_sum_of_second(m, y, n, x, out);
	for (int i = 0; i < n; i++) {
		if (e->function == CALL_DIV)
			TRY(value_part(&m->v, v, i, &y));
		TRY(derive(m, f, y, x[i], &t));
		if (e->function == CALL_LAPLACIAN)
			TRY(derive(m, f, t, x[i], &t));
		if (e->function == CALL_NORMAL && t != NONE) {
			TRY(normal(m, f, i, &normals));
			TRY(emit_mul(m->v.g, t, normals, &t));
		}
		if (e->function == CALL_DERIVE)
			y = *out = t;
		else
			TRY(add(m, *out, t, out));
	}
	return 0;
}

int expr_emit_derivative(struct expr_emission *m, const struct site *f, const struct expr *e,
                         struct value *v, struct value *out)
{
	const struct shape s = { 2, { v->rows, 1 } };
	tid x[EXPR_ARGUMENTS], part[EXPR_ARGUMENTS + MAX_COORDINATES], y;
	int n, count = v->components;
	m->derives = true;
	TRY(coordinates(m, f, e, x, &n));
	if (e->function == CALL_GRAD || e->function == CALL_DIV)
		count = e->function == CALL_GRAD ? n : 1;
	tid *list = count > EXPR_ARGUMENTS ? ARENA_ARRAY(m->v.arena, tid, count) : part;
	for (int k = 0; k < count; k++) {
		if (e->function == CALL_GRAD) {
			TRY(value_part(&m->v, v, 0, &y));
			TRY(derive(m, f, y, x[k], &list[k]));
		} else {
			TRY(one_component(m, f, e, v, k, n, x, &list[k]));
		}
		if (list[k] == NONE)
			TRY(emit_fill(m->v.g, 0, &s, &list[k]));
	}
	*out = value_parts(&m->v, count, list, f->set);
	return 0;
}
