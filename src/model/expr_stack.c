/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks with forward-mode derivatives: a placeholder for each derivative while the needed ones
 * are not known (expr_foresee.c), afterwards all of them together. */
#include "model/expr_stack.h"

#include <math.h>

#include "base/err.h"
#include "model/expr_forward.h"
#include "op/lib/emit.h"

struct stack *stack_find(const struct expr_emission *m, tid y, struct stream *s)
{
	*s = (struct stream){ 0 };
	for (struct stack *k = m->stacks; k; k = k->next) {
		if (k->y == y)
			return k;
		for (const struct wish *w = k->wishes; w; w = w->next)
			if (w->t == y) {
				*s = w->s;
				return k;
			}
	}
	return NULL;
}

/* The derivative s of x by coordinates; NONE: zero. */
static int of_input(struct expr_emission *m, tid x, const struct stream *s, tid *out)
{
	if (s->sum)
		return expr_sum_of_second(m, x, s->n, s->by, out);
	*out = x;
	for (int i = 0; i < s->n; i++)
		TRY(expr_tangent(m, *out, s->by[i], out));
	return 0;
}

void stack_root(struct expr_emission *m, tid t)
{
	struct root *r = ARENA_NEW(m->v.arena, struct root);
	*r = (struct root){ m->roots, t };
	m->roots = r;
}

static void add_wish(struct expr_emission *m, struct stack *k, const struct stream *s, tid t)
{
	struct wish *w = ARENA_NEW(m->v.arena, struct wish);
	*w = (struct wish){ k->wishes, *s, t, false };
	k->wishes = w;
}

static const struct wish *find_wish(const struct stack *k, const struct stream *s)
{
	const struct wish *w = k ? k->wishes : NULL;
	while (w && !stream_equal(&w->s, s))
		w = w->next;
	return w;
}

/* In earnest, a placeholder is only on the way to a derivative of a higher order; not a number, so
 * that it would show. */
int stack_stream(struct expr_emission *m, struct stack *k, const struct stream *s, tid *out)
{
	struct streams parts = { .arena = m->v.arena };
	const struct wish *known = find_wish(k, s);
	if (known) {
		*out = known->t;
		return 0;
	}
	if (!m->foreseeing && !find_wish(k->foreseen, s))
		return ERR(E_BUG, &m->v.g->cur_loc, "a derivative of a network was not foreseen");
	TRY(emit_fill(m->v.g, NAN, &graph_t(m->v.g, k->y)->shape, out));
	add_wish(m, k, s, *out);
	if (!m->foreseeing)
		return 0;
	if (k->why)
		expr_refuse(m, k->why);
	streams_add_all(&parts, s);
	for (int i = 0; i < parts.n; i++) {
		tid t;
		TRY(of_input(m, k->x, &parts.v[i], &t));
		if (t != NONE)
			stack_root(m, t);
	}
	return 0;
}

/* --- emission --- */

/* What is wanted of a stack that was foreseen. */
static struct streams wanted(const struct expr_emission *m, const struct stack *k)
{
	struct streams want = { .arena = m->v.arena };
	if (k->valued)
		streams_add(&want, &(struct stream){ 0 });
	for (const struct wish *w = k->wishes; w; w = w->next)
		if (w->live)
			streams_add(&want, &w->s);
	return want;
}

/* The streams of x that are not zero, of those in `all`, as rows. */
static int stacked_input(struct expr_emission *m, tid x, const struct streams *all,
                         struct streams *in, tid *out)
{
	tid *t = ARENA_ARRAY(m->v.arena, tid, all->n);
	*in = (struct streams){ .arena = m->v.arena };
	for (int i = 0; i < all->n; i++) {
		TRY(of_input(m, x, &all->v[i], &t[in->n]));
		if (t[in->n] != NONE)
			streams_add(in, &all->v[i]);
	}
	return emit_concat(m->v.g, 0, in->n, t, out);
}

/* Rows of y become what was wished for; *value what is of k's own value, without the last bias. */
static int take_streams(struct expr_emission *m, struct stack *k, const struct streams *want,
                        tid y, tid *value)
{
	const int64_t points = graph_t(m->v.g, k->x)->shape.d[0];
	for (int i = 0; i < want->n; i++) {
		const struct slice rows = { 0, i * points, points };
		tid t = y;
		if (want->n > 1)
			TRY(emit_slice(m->v.g, y, &rows, &t));
		if (want->v[i].n)
			add_wish(m, k, &want->v[i], t);
		else
			*value = t;
	}
	return 0;
}

static int emit_streams(struct expr_emission *m, const struct expr_layers *l, struct stack *k,
                        const struct streams *want)
{
	struct graph *g = m->v.g;
	struct streams all = { .arena = m->v.arena }, in;
	tid h, weight, bias, value = NONE;
	for (int i = 0; i < want->n; i++)
		streams_add_all(&all, &want->v[i]);
	m->nstream = all.n > m->nstream ? all.n : m->nstream;
	TRY(stacked_input(m, k->x, &all, &in, &h));
	for (int i = 0; i + 1 < l->n; i++) {
		const struct streams *out = i + 2 < l->n ? &all : want;
		TRY(l->weights(l->user, g, i, graph_t(g, h)->shape.d[1], &weight, &bias));
		TRY(streams_layer(g, (enum taylor_of)l->activation, i ? &all : &in, out, h, weight, bias,
		                  &h));
	}
	TRY(l->weights(l->user, g, l->n - 1, graph_t(g, h)->shape.d[1], &weight, &bias));
	TRY(graph_emit1(g, "dense", NULL, 2, (tid[]){ h, weight }, &h));
	TRY(take_streams(m, k, want, h, &value));
	if (value == NONE)
		return l->plain(l->user, g, k->x, &k->y);        /* which nothing reads */
	TRY(emit_broadcast(g, bias, &graph_t(g, value)->shape, &bias));
	return graph_emit1(g, "add", NULL, 2, (tid[]){ value, bias }, &k->y);
}

/* As foreseen of the application with k's number. */
static int emit_stack(struct expr_emission *m, const struct expr_layers *l, struct stack *k)
{
	const struct graph_context saved = { m->v.g->cur_name, m->v.g->cur_loc, m->v.g->cur_phase };
	const struct stack *f = m->foreseen;
	while (f && f->number != k->number)
		f = f->next;
	BUG_IF(!f, "an application of a network that was not foreseen");
	k->foreseen = f;
	const struct streams want = wanted(m, f);
	int rc = want.n == f->valued ? l->plain(l->user, m->v.g, k->x, &k->y)
	                             : emit_streams(m, l, k, &want);
	graph_leave(m->v.g, saved);
	return rc;
}

int expr_emit_layers(struct expr_emission *m, const struct expr_layers *l, tid x, tid *y)
{
	const struct shape s = { 2, { graph_t(m->v.g, x)->shape.d[0], l->outputs } };
	const struct graph_context saved = { m->v.g->cur_name, m->v.g->cur_loc, m->v.g->cur_phase };
	struct stack *k = ARENA_NEW(m->v.arena, struct stack);
	if (m->how == BY_REVERSE) {
		int rc = l->plain(l->user, m->v.g, x, y);
		graph_leave(m->v.g, saved);
		return rc;
	}
	*k = (struct stack){ .number = m->nstack++, .x = x };
	if (l->n < 2 || l->activation == NONE)
		k->why = arena_printf(m->v.arena, "not through '%s', which has %s", l->name,
		                      l->n == 0 ? "other layers" : l->n == 1 ? "one layer" :
		                      "another activation");
	if (m->foreseeing) {
		stack_root(m, x);
		TRY(emit_fill(m->v.g, 0, &s, &k->y));
	} else {
		TRY(emit_stack(m, l, k));
	}
	k->next = m->stacks;
	m->stacks = k;
	*y = k->y;
	return 0;
}
