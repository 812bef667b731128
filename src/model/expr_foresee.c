/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All streams of a network are propagated through its layers together, so they have to be known
 * when the network is emitted. Therefore everything is emitted twice: first with a placeholder for
 * each application of a network and each of its derivatives, to find those that something depends
 * on; then for real, in the same order. The nodes of the first emission are dead code. */
#include "model/expr.h"

#include "base/err.h"
#include "base/mem.h"
#include "model/expr_forward.h"
#include "model/expr_stack.h"

static void forget(struct expr_emission *m)
{
	m->applied = NULL;
	m->lets = NULL;
	m->derived = NULL;
	m->seconds = NULL;
	m->stacks = NULL;
	m->nstack = 0;
	m->roots = NULL;
	m->refused = false;
	m->derives = false;
}

/* Finds out which placeholders something depends on. */
static void mark_live(struct expr_emission *m, int first)
{
	const struct graph *g = m->v.g;
	bool *live = mem_calloc((size_t)g->ntensor + 1, sizeof *live);
	for (const struct root *r = m->roots; r; r = r->next)
		live[r->t] = true;
	for (int i = g->nnode - 1; i >= first; i--) {
		const struct node *n = g->node[i];
		bool any = false;
		for (int k = 0; k < n->nout; k++)
			any |= n->out[k] != NONE && live[n->out[k]];
		for (int k = 0; any && k < n->nin; k++)
			if (n->in[k] != NONE)
				live[n->in[k]] = true;
	}
	for (struct stack *k = m->stacks; k; k = k->next) {
		k->valued = live[k->y];
		for (struct wish *w = k->wishes; w; w = w->next)
			w->live = live[w->t];
	}
	mem_free(live);
}

/* Whether more go through a network than can. */
static bool has_too_many(const struct expr_emission *m)
{
	for (const struct stack *k = m->stacks; k; k = k->next) {
		struct streams all = { .arena = m->v.arena };
		for (const struct wish *w = k->wishes; w; w = w->next)
			if (w->live)
				streams_add_all(&all, &w->s);
		if (all.n > STREAMS_MOST)
			return true;
	}
	return false;
}

static int foresee(struct expr_emission *m, int n, const struct expr *const *e, const int *set)
{
	const int first = m->v.g->nnode;
	for (int i = 0; i < n; i++) {
		tid t;
		TRY(expr_emit(m, e[i], set[i], &t));
		stack_root(m, t);
	}
	mark_live(m, first);
	if (has_too_many(m))
		expr_refuse(m, "too many are wanted");
	m->foreseen = m->stacks;
	return 0;
}

int expr_foresee(struct expr_emission *m, int n, const struct expr *const *e, const int *set)
{
	bool refused = true;
	for (m->how = BY_SUMS; m->how != BY_REVERSE && refused; m->how += refused) {
		m->foreseeing = true;
		m->why = NULL;
		int rc = foresee(m, n, e, set);
		m->foreseeing = false;
		refused = m->refused;
		forget(m);
		TRY(rc);
	}
	return 0;
}

const char *expr_derivation(const struct expr_emission *m, const char *unforeseen)
{
	const char *why = unforeseen ? unforeseen : m->why;
	if (!m->derives)
		return NULL;
	if (why)
		return arena_printf(m->v.arena, "by reverse passes (%s)", why);
	return arena_printf(m->v.arena, "forward, %d stream%s", m->nstream, m->nstream == 1 ? "" : "s");
}
