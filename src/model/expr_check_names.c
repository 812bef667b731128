/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks of names in expressions. A `let`, and the inputs of a network that is named without
 * arguments, are checked where they are used. The result for a `let` is cached by the set and the
 * enclosing derivatives of its use. */
#include "model/expr_check.h"

#include "base/suggest.h"

/* A `let` that has been checked. */
struct checked {
	struct checked *next;
	const struct expr_name *let;
	int set, depth;
	uint64_t by;
	int rc;
	struct expr_type type;
};

/* The number of components of a network's input if the network does not fix it. */
struct width {
	struct width *next;
	const struct expr_input *input;
	int components;
};

struct checks {
	struct checked *lets;
	struct width *widths;
};

static struct checks *checks_of(struct expr_scope *s)
{
	if (!s->checked)
		s->checked = ARENA_NEW(s->arena, struct checks);
	return s->checked;
}

/* --- messages --- */

/* "x, t" */
const char *expr_list_axes(const struct check *c, const struct expr_set *set, bool spatial)
{
	const char *text = "";
	for (int i = 0; i < set->naxis; i++)
		if (!spatial || set->axis[i].spatial)
			text = arena_printf(c->s->arena, "%s%s%s", text, *text ? ", " : "", set->axis[i].name);
	return text;
}

const char *expr_list_inputs(const struct check *c, const struct expr_name *n)
{
	const char *text = "";
	for (int i = 0; i < n->ninput; i++)
		text = arena_printf(c->s->arena, "%s%s%s", text, i ? ", " : "", n->input[i].name);
	return text;
}

static const char *list_sets(const struct check *c)
{
	const char *text = "";
	for (int i = 0; i < c->s->nset; i++)
		text = arena_printf(c->s->arena, "%s%s%s", text, i ? ", " : "", c->s->set[i].name);
	return text;
}

/* "; did you mean 'x'?" or "". */
const char *expr_meant(const struct check *c, const struct suggest *near)
{
	return near->best ? arena_printf(c->s->arena, "; did you mean '%s'?", near->best) : "";
}

int expr_unknown_name(const struct check *c, const struct expr *e, const char *name,
                      struct expr_type *t)
{
	struct suggest near = { .word = name };
	if (expr_find_set(c->s, name) != NONE)
		return FAIL(c, e, "'%s' is a set of points; values there are written 'e @ %s'", name, name);
	for (int i = 0; i < c->nbound; i++)
		suggest_offer(&near, c->bound[i].name);
	for (int i = 0; i < c->s->nname; i++)
		suggest_offer(&near, c->s->name[i].name);
	suggest_offer(&near, "pi");
	return FAIL(c, e, "unknown name '%s'%s", name, expr_meant(c, &near));
}

int expr_check_set(const struct check *c, const struct expr *e)
{
	struct suggest near = { .word = e->set };
	int i = expr_find_set(c->s, e->set);
	if (i != NONE)
		return i;
	for (int k = 0; k < c->s->nset; k++)
		suggest_offer(&near, c->s->set[k].name);
	if (!near.best && c->s->nset)
		return ERR(E_CONFIG, &e->set_loc, "unknown set of points '%s'; there are %s", e->set,
		           list_sets(c));
	return ERR(E_CONFIG, &e->set_loc, "unknown set of points '%s'%s", e->set, expr_meant(c, &near));
}

/* A value at points where nothing says at which. Said once, where a set can be named. */
int expr_nowhere(const struct check *c, const struct expr *e, struct expr_type *t)
{
	const struct expr *at = c->use ? c->use : e;
	if (c->said->nowhere)
		return fail(E_CONFIG, t);
	c->said->nowhere = true;
	return FAIL(c, at, "'%.*s' is a value at points, and nothing says at which: write 'e @ "
	            "SET'%s%s",
	            EXPR_TEXT(at), c->s->nset ? "; there are " : "", list_sets(c));
}

/* --- names --- */

/* The coordinate, array or noise n, which `taker` (NULL: the text itself) needs here. */
int expr_check_given(const struct check *c, const struct expr *e, const struct expr_name *n,
                     const struct expr_name *taker, struct expr_type *t)
{
	const struct expr_set *set = set_of(c, c->set);
	const char *what = n->what == EXPR_COORDINATE ? "coordinate" : "array";
	const char *takes = taker ? arena_printf(c->s->arena, ", which '%s' takes", taker->name) : "";
	bool there = !set || n->what == EXPR_NOISE ||
	             (n->what == EXPR_COORDINATE ? expr_find_axis(set, n->name) != NONE
	                                         : expr_has_array(set, n->name));
	*t = (struct expr_type){ EXPR_OF_POINTS, c->set,
		n->what == EXPR_COORDINATE ? 1 : n->components,
		n->what == EXPR_COORDINATE ? expr_coordinate_bit(c->s, n) : 0, false };
	if (c->bound)
		return FAIL(c, e, "'%s' is none of the inputs here%s", n->name, takes);
	if (c->set == EXPR_NOWHERE)
		return expr_nowhere(c, e, t);
	if (!there && c->said->lacking == n && c->said->set == c->set)
		return fail(E_CONFIG, t);
	if (!there)
		*c->said = (struct said){ c->said->nowhere, n, c->set };
	if (!there && n->what == EXPR_COORDINATE && set->naxis == 0)
		return FAIL(c, e, "the set '%s' has no coordinate '%s'%s: its points are samples of a "
		            "record, which have none", set->name, n->name, takes);
	if (!there && n->what == EXPR_COORDINATE)
		return FAIL(c, e, "the set '%s' has no %s '%s'%s; it has %s", set->name, what, n->name,
		            takes, expr_list_axes(c, set, false));
	if (!there)
		return FAIL(c, e, "the set '%s' has no %s '%s'%s", set->name, what, n->name, takes);
	return 0;
}

/* Whether n is walked already: then its circle is reported. */
static int check_circle(const struct check *c, const struct expr *e, const struct expr_name *n)
{
	const char *chain = n->name;
	const struct opened *o = c->opened;
	for (; o && o->name != n; o = o->outer)
		chain = arena_printf(c->s->arena, "%s -> %s", o->name->name, chain);
	if (!o)
		return 0;
	return ERR(E_CONFIG, &e->loc, "'%s' is defined by itself: %s -> %s", n->name, n->name, chain);
}

static struct checked *recall(const struct check *c, const struct expr_name *let)
{
	for (struct checked *k = c->bound ? NULL : checks_of(c->s)->lets; k; k = k->next)
		if (k->let == let && k->set == c->set && k->depth == c->depth && k->by == c->by)
			return k;
	return NULL;
}

static int check_let(const struct check *c, const struct expr *e, const struct expr_name *n,
                     struct expr_type *t)
{
	struct opened opened = { c->opened, n };
	struct check inner = *c;
	int mark = err_count();
	struct checked *k = recall(c, n);
	if (k) {
		*t = k->type;
		return k->rc < 0 && c->set == EXPR_NOWHERE ? expr_nowhere(c, e, t) : k->rc;
	}
	if (c->set != EXPR_ANYWHERE || c->bound || c->depth) {   /* is it wrong wherever it is used? */
		inner.set = EXPR_ANYWHERE;
		inner.bound = NULL;
		inner.nbound = inner.depth = 0;
		inner.by = 0;
		TRY(check_let(&inner, e, n, t));
	}
	inner = *c;
	inner.opened = &opened;
	if (!inner.use)
		inner.use = e;
	int rc = check_circle(c, e, n);
	if (rc < 0)
		return fail(rc, t);
	rc = expr_check_tree(&inner, n->let, t);
	if (rc < 0 && c->set >= 0)
		err_context_since(mark, "in '%s', used at the set '%s'", n->name, c->s->set[c->set].name);
	if (c->bound)
		return rc;
	k = ARENA_NEW(c->s->arena, struct checked);
	*k = (struct checked){ checks_of(c->s)->lets, n, c->set, c->depth, c->by, rc, *t };
	checks_of(c->s)->lets = k;
	return rc;
}

int expr_check_kink(const struct check *c, const struct expr *e, const char *name,
                    const char *kinked, const char *mixes, struct expr_type *t)
{
	if (mixes && c->depth && (t->depends & c->by))
		return FAIL(c, e, "'%s' cannot be derived: its %s makes points depend on each other; "
		            "layer_norm does not", name, mixes);
	if (!kinked || c->depth < 2 || !(t->depends & c->by))
		return 0;
	return FAIL(c, e, "the second derivatives of '%s' are zero, since its activation is %s; use "
	            "tanh, silu or another smooth one", name, kinked);
}

int expr_check_input(const struct check *c, const struct expr *e, const struct expr_name *n, int i,
                     int components, struct expr_type *t)
{
	const struct expr_input *in = &n->input[i];
	struct width *w = checks_of(c->s)->widths;
	int wanted = in->components;
	while (w && w->input != in)
		w = w->next;
	if (!wanted && w)
		wanted = w->components;
	if (components && wanted && wanted != components)
		return FAIL(c, e, "'%s' takes %d component%s%s as '%s', but '%.*s' has %d", n->name, wanted,
		            wanted == 1 ? "" : "s", in->components ? "" : " elsewhere", in->name,
		            EXPR_TEXT(e), components);
	if (wanted || !components)
		return 0;
	w = ARENA_NEW(c->s->arena, struct width);
	*w = (struct width){ checks_of(c->s)->widths, in, components };
	checks_of(c->s)->widths = w;
	return 0;
}

/* A network that is only named: it gets its inputs by their names. */
static int check_network(const struct check *c, const struct expr *e, const struct expr_name *n,
                         struct expr_type *t)
{
	struct opened opened = { c->opened, n };
	struct check inner = *c;
	int rc = check_circle(c, e, n);
	*t = (struct expr_type){ EXPR_OF_POINTS, c->set, n->components, 0, false };
	if (rc < 0)
		return fail(rc, t);
	inner.opened = &opened;
	for (int i = 0; i < n->ninput; i++) {
		const struct expr_input *in = &n->input[i];
		struct expr_type of;
		if (!expr_find_bound(c->nbound, c->bound, in->name) && !expr_find_name(c->s, in->name))
			return FAIL(c, e, "'%s' needs its input: write '%s(...)', for there is nothing named "
			            "'%s'", n->name, n->name, in->name);
		int one = expr_check_word(&inner, e, in->name, n, &of);
		if (one == 0)
			one = expr_check_input(c, e, n, i, of.components, t);
		rc = rc < 0 ? rc : one;
		t->depends |= of.depends;
	}
	return rc < 0 ? fail(rc, t) : expr_check_kink(c, e, n->name, n->kinked, n->mixes, t);
}

/* `name`, which stands at e or is an input of `taker`, which does. */
int expr_check_word(const struct check *c, const struct expr *e, const char *name,
                      const struct expr_name *taker, struct expr_type *t)
{
	const struct expr_bound *b = expr_find_bound(c->nbound, c->bound, name);
	const struct expr_name *n = expr_find_name(c->s, name);
	if (b) {
		*t = (struct expr_type){ EXPR_OF_POINTS, c->set, b->components, ~UINT64_C(0), false };
		if (b->derivable && b - c->bound < 64)
			t->depends = UINT64_C(1) << (b - c->bound);
		return expr_check_kink(c, e, name, b->kinked, b->mixes, t);
	}
	if (!n)
		return expr_unknown_name(c, e, name, t);
	if (n->what == EXPR_LET)
		return check_let(c, e, n, t);
	if (n->what == EXPR_NETWORK)
		return check_network(c, e, n, t);
	if (n->what != EXPR_VARIABLE)
		return expr_check_given(c, e, n, taker, t);
	*t = (struct expr_type){ EXPR_OF_SCALAR, c->set, 1, 0, false };
	return 0;
}

int expr_check_member(const struct check *c, const struct expr *e, struct expr_type *t)
{
	const struct expr_name *n = expr_find_array(c->s, e->name);
	struct suggest near = { .word = e->name };
	int i = expr_check_set(c, e);
	if (i < 0)
		return fail(i, t);
	const struct expr_set *set = &c->s->set[i];
	for (int k = 0; k < set->narray; k++)
		suggest_offer(&near, set->array[k]);
	if (!n || !expr_has_array(set, e->name))
		return FAIL(c, e, "the set '%s' has no array '%s'%s", e->set, e->name,
		            expr_meant(c, &near));
	*t = (struct expr_type){ EXPR_OF_POINTS, i, n->components, 0, true };
	return 0;
}
