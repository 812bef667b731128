/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Represents sums as lists of signed terms and joins the second derivatives of one value. */
#include "model/expr_collapse.h"

#include <string.h>

#include "model/streams.h"

#define MOST 32

struct summand {
	const struct expr *e;
	bool minus, gone;
};

struct sum {
	int n;
	struct summand v[MOST];
	bool long_;                  /* has more */
};

/* What a name of `let` stands for. */
static const struct expr *meaning(const struct expr_emission *m, const struct site *f,
                                  const struct expr *e)
{
	while (e->op == EXPR_NAME && !expr_find_bound(f->nbound, f->bound, e->name)) {
		const struct expr_name *n = expr_find_name(m->s, e->name);
		if (!n || n->what != EXPR_LET)
			break;
		e = n->let;
	}
	return e;
}

static void list(const struct expr_emission *m, const struct site *f, const struct expr *e,
                 bool minus, struct sum *s)
{
	if ((e->op == EXPR_ADD || e->op == EXPR_SUBTRACT) && e->n == 2) {
		list(m, f, e->arg[0], minus, s);
		list(m, f, e->arg[1], minus != (e->op == EXPR_SUBTRACT), s);
	} else if (s->n < MOST) {
		s->v[s->n++] = (struct summand){ e, minus, false };
	} else {
		s->long_ = true;
	}
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same(const struct expr *a, const struct expr *b)
{
	if (a == b)
		return true;
	if (a->op != b->op || a->function != b->function || a->number != b->number ||
	    a->index != b->index || a->n != b->n || !same_text(a->name, b->name) ||
	    !same_text(a->set, b->set))
		return false;
	for (int i = 0; i < a->n; i++)
		if (!same(a->arg[i], b->arg[i]))
			return false;
	return true;
}

/* d(a, x, x) */
static bool is_second(const struct expr *e)
{
	return e->op == EXPR_CALL && e->function == CALL_DERIVE && e->n == 3 &&
	       same(e->arg[1], e->arg[2]);
}

/* Whether the coordinate of e is one of those of a laplacian. */
static bool has(const struct expr *laplacian, const struct expr *e)
{
	for (int i = 1; i < laplacian->n; i++)
		if (same(laplacian->arg[i], e->arg[1]))
			return true;
	return false;
}

/* Joins to term i all after it that it can. */
static bool join(const struct expr_emission *m, const struct site *f, struct sum *s, int i)
{
	const struct expr *first = meaning(m, f, s->v[i].e);
	if (s->v[i].gone || !is_second(first))
		return false;
	struct expr *l = arena_copy(m->v.arena, first, sizeof *first);
	l->function = CALL_LAPLACIAN;
	l->arg = ARENA_ARRAY(m->v.arena, const struct expr *, STREAM_AXES + 1);
	l->n = 2;
	l->arg[0] = first->arg[0];
	l->arg[1] = first->arg[1];
	for (int k = i + 1; k < s->n && l->n <= STREAM_AXES; k++) {
		const struct expr *e = meaning(m, f, s->v[k].e);
		if (s->v[k].gone || s->v[k].minus != s->v[i].minus || !is_second(e) ||
		    !same(e->arg[0], first->arg[0]) || has(l, e))
			continue;
		l->arg[l->n++] = e->arg[1];
		s->v[k].gone = true;
	}
	if (l->n > 2)
		s->v[i].e = l;
	return l->n > 2;
}

static const struct expr *make(const struct expr_emission *m, const struct expr *like,
                               enum expr_op op, int n, const struct expr *a, const struct expr *b)
{
	struct expr *e = arena_copy(m->v.arena, like, sizeof *like);
	e->op = op;
	e->n = n;
	e->arg = arena_copy(m->v.arena, (const struct expr *[]){ a, b }, 2 * sizeof a);
	return e;
}

const struct expr *expr_collapse(const struct expr_emission *m, const struct site *f,
                                 const struct expr *e)
{
	struct sum s = { 0 };
	const struct expr *out = NULL;
	bool any = false;
	list(m, f, e, false, &s);
	for (int i = 0; i < s.n; i++)
		any |= !s.long_ && join(m, f, &s, i);
	if (!any)
		return e;
	for (int i = 0; i < s.n; i++) {
		const struct summand *v = &s.v[i];
		if (v->gone)
			continue;
		if (!out)
			out = v->minus ? make(m, e, EXPR_NEGATE, 1, v->e, NULL) : v->e;
		else
			out = make(m, e, v->minus ? EXPR_SUBTRACT : EXPR_ADD, 2, out, v->e);
	}
	return out;
}
