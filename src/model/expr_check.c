/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Computes the types of expressions, without a graph, by a recursive traversal at one set of
 * points. A mistake is reported and its value gets 0 components, so that it causes no further
 * messages higher up. */
#include "model/expr_check.h"

#include <string.h>

#include "base/suggest.h"

/* --- values that meet --- */

static int64_t count_rows(const struct check *c, const struct expr_type *t)
{
	const struct expr_set *set = set_of(c, t->set);
	int64_t r = set ? set->realizations : 1;
	return t->extent == EXPR_OF_POINTS && set ? r * set->points : r;
}

/* Whether the rows of both belong together. */
static bool rows_fit(const struct check *c, const struct expr_type *a, const struct expr_type *b)
{
	const struct expr_set *sa = set_of(c, a->set), *sb = set_of(c, b->set);
	if (a->extent != b->extent)
		return false;
	if (a->set == b->set || a->set == EXPR_ANYWHERE || b->set == EXPR_ANYWHERE)
		return true;
	return count_rows(c, a) == count_rows(c, b) &&
	       (sa ? sa->realizations : 1) == (sb ? sb->realizations : 1);
}

/* Folds b's type, of expression eb, into *t, of ea. e: where both meet. equal: components are not
 * repeated. */
static int meet(const struct check *c, const struct expr *e, const struct expr *ea,
                struct expr_type *t, const struct expr *eb, const struct expr_type *b, bool equal)
{
	if (has_rows(t) && has_rows(b) && !rows_fit(c, t, b)) {
		if (t->extent != b->extent)
			return FAIL(c, e, "'%.*s' is at points, '%.*s' is a snapshot",
			            EXPR_TEXT(t->extent == EXPR_OF_POINTS ? ea : eb),
			            EXPR_TEXT(t->extent == EXPR_OF_POINTS ? eb : ea));
		return FAIL(c, e, "'%.*s' has %lld points, '%.*s' has %lld", EXPR_TEXT(ea),
		            (long long)count_rows(c, t), EXPR_TEXT(eb), (long long)count_rows(c, b));
	}
	if (t->components && b->components && t->components != b->components &&
	    (equal || (t->components != 1 && b->components != 1)))
		return FAIL(c, e, "'%.*s' has %d component%s, '%.*s' has %d", EXPR_TEXT(ea), t->components,
		            t->components == 1 ? "" : "s", EXPR_TEXT(eb), b->components);
	if (b->extent > t->extent || (has_rows(b) && t->set == EXPR_ANYWHERE)) {
		t->extent = b->extent;
		t->set = b->set;
	}
	t->depends |= b->depends;
	t->located |= b->located;
	if (!t->components || !b->components)
		t->components = 0;
	else if (b->components > t->components)
		t->components = b->components;
	return 0;
}

/* Checks all arguments of e, whose rows must match each other. */
static int check_meeting(const struct check *c, const struct expr *e, bool equal,
                         struct expr_type *t)
{
	int rc = expr_check_tree(c, e->arg[0], t);
	for (int i = 1; i < e->n; i++) {
		struct expr_type b;
		int one = expr_check_tree(c, e->arg[i], &b);
		if (rc == 0 && one == 0)
			one = meet(c, e, e->arg[0], t, e->arg[i], &b, equal);
		rc = rc < 0 ? rc : one;
	}
	return rc < 0 ? fail(rc, t) : 0;
}

/* The argument of e that must have points; what: which then happens with it. */
static int want_rows(const struct check *c, const struct expr *e, const char *what,
                     struct expr_type *t)
{
	const struct expr *value = e->op == EXPR_AT ? e->arg[0] : e;
	if (has_rows(t))
		return 0;
	return FAIL(c, e, "'%.*s' has no points%s", EXPR_TEXT(value), what);
}

/* --- derivatives --- */

/* The bit of a coordinate that e names; 0: a mistake, reported. */
static uint64_t derived_by(const struct check *c, const struct expr *e, struct expr_type *t)
{
	const struct expr_bound *b = expr_find_bound(c->nbound, c->bound, e->name);
	const struct expr_name *n = expr_find_name(c->s, e->name);
	struct expr_type of;
	if (b && b->derivable && b - c->bound < 64)
		return UINT64_C(1) << (b - c->bound);
	if (!b && !n)
		expr_unknown_name(c, e, e->name, t);
	else if (b || n->what != EXPR_COORDINATE)
		FAIL(c, e, "'%s' is no coordinate: nothing can be derived by it", e->name);
	else if (expr_check_given(c, e, n, NULL, &of) == 0)
		return of.depends;
	return 0;
}

static int independent(const struct check *c, const struct expr *e, const struct expr *by,
                       struct expr_type *t)
{
	const struct expr_name *n = e->op == EXPR_NAME ? expr_find_name(c->s, e->name) : NULL;
	const char *inputs = n && n->what == EXPR_NETWORK ? expr_list_inputs(c, n) : "";
	return FAIL(c, by, "'%.*s' does not depend on '%s'%s%s", EXPR_TEXT(e), by->name,
	            *inputs ? "; its inputs are " : "", inputs);
}

/* Coordinates that the call e derives by, where it names none: those of the set. *n: how many, 0
 * where that is not known. */
static int implied(const struct check *c, const struct expr *e, int *n, uint64_t *by,
                   struct expr_type *t)
{
	const struct expr_set *set = set_of(c, c->set);
	*n = 0;
	*by = 0;
	if (c->bound)
		return FAIL(c, e, "name the coordinates here: %s(%.*s, ...)", e->name,
		            EXPR_TEXT(e->arg[0]));
	if (!set)
		return 0;
	for (int i = 0; i < set->naxis; i++) {
		const struct expr_name *x = expr_find_name(c->s, set->axis[i].name);
		if (!set->axis[i].spatial || !x)
			continue;
		*by |= expr_coordinate_bit(c->s, x);
		++*n;
	}
	return *n ? 0 : FAIL(c, e, set->naxis ? "the set '%s' has no coordinate in space" :
	                     "the points of the set '%s' are samples of a record, which have no "
	                     "coordinates", set->name);
}

/* Fills the number and the bits of the coordinates that e derives by. */
static int coordinates(const struct check *c, const struct expr *e, int *n, uint64_t *by,
                       struct expr_type *t)
{
	int rc = 0;
	if (e->n == 1)
		return implied(c, e, n, by, t);
	*n = e->n - 1;
	*by = 0;
	for (int i = 1; i < e->n; i++) {
		uint64_t bit = derived_by(c, e->arg[i], t);
		*by |= bit;
		if (!bit)
			rc = fail(E_CONFIG, t);
	}
	return rc;
}

/* Whether the value of e's argument, of type *t, has the components that e takes, and n coordinates
 * by which it is derived; then *t becomes the type of e. */
static int derived_components(const struct check *c, const struct expr *e, int n,
                              struct expr_type *t)
{
	const struct expr *of = e->arg[0];
	const struct expr_set *set = e->n == 1 ? set_of(c, c->set) : NULL;
	if (e->function == CALL_GRAD && t->components > 1)
		return FAIL(c, of, "'grad' takes one component, but '%.*s' has %d; choose one by e[k]",
		            EXPR_TEXT(of), t->components);
	if (e->function == CALL_DIV && n && t->components && t->components != n)
		return FAIL(c, of, "'div' takes a component for each of %d coordinate%s%s%s, but '%.*s' "
		            "has %d", n, n == 1 ? "" : "s", set ? ", " : "",
		            set ? expr_list_axes(c, set, true) : "", EXPR_TEXT(of), t->components);
	if (e->function == CALL_GRAD)
		t->components = n;
	else if (e->function == CALL_DIV)
		t->components = 1;
	return 0;
}

static int check_derivative(const struct check *c, const struct expr *e, struct expr_type *t)
{
	const struct expr *of = e->arg[0];
	const struct expr_set *set = set_of(c, c->set);
	struct check inner = *c;
	uint64_t by = 0;
	int n = 0;
	int order = e->function == CALL_DERIVE ? e->n - 1 : e->function == CALL_LAPLACIAN ? 2 : 1;
	if (c->set != EXPR_NOWHERE || c->bound)
		TRY(coordinates(c, e, &n, &by, t));
	inner.depth = c->depth + order > 2 ? 2 : c->depth + order;
	inner.by |= by;
	TRY(expr_check_tree(&inner, of, t));
	if (t->extent != EXPR_OF_POINTS)
		return FAIL(c, of, "'%.*s' has no points; only what has can be derived", EXPR_TEXT(of));
	for (int i = 1; i < e->n; i++)
		if (!by || !(t->depends & derived_by(c, e->arg[i], t)))
			return independent(c, of, e->arg[i], t);
	if (e->n == 1 && (set || !by) && c->set != EXPR_ANYWHERE && !(t->depends & by))
		return FAIL(c, of, "'%.*s' does not depend on %s", EXPR_TEXT(of),
		            set ? expr_list_axes(c, set, true) : "a coordinate");
	if (e->function == CALL_NORMAL && set && !set->normals)
		return FAIL(c, e, "the set '%s' has no normals; 'dn' is for points of a boundary",
		            set->name);
	return derived_components(c, e, n, t);
}

/* --- other functions --- */

/* Components that stand at the same points, one after another. */
static int join_components(const struct check *c, const struct expr *e, const struct expr_type *of,
                           struct expr_type *t)
{
	int components = 0;
	*t = of[0];
	for (int i = 0; i < e->n; i++) {
		struct expr_type one = of[i];
		components += of[i].components;
		one.components = t->components = 1;   /* they meet in rows alone */
		TRY(meet(c, e, e->arg[0], t, e->arg[i], &one, false));
	}
	if (!has_rows(t) && c->set == EXPR_NOWHERE && !c->bound)
		return expr_nowhere(c, e, t);
	if (!has_rows(t))
		*t = (struct expr_type){ .extent = EXPR_OF_POINTS, .set = c->set };
	t->components = components;
	return 0;
}

/* A row for each realization. */
static int join_snapshots(const struct check *c, const struct expr *e, const struct expr_type *of,
                          struct expr_type *t)
{
	int64_t width = 0, realizations = 0;
	*t = (struct expr_type){ EXPR_OF_SNAPSHOTS, of[0].set, 0, 0, true };
	for (int i = 0; i < e->n; i++) {
		const struct expr_set *set = set_of(c, of[i].set);
		int64_t r = set ? set->realizations : 1;
		if (!of[i].located)
			return FAIL(c, e->arg[i], "other arguments of 'join' say where they are, '%.*s' does "
			            "not: write 'e @ SET'", EXPR_TEXT(e->arg[i]));
		if (i == 0)
			realizations = r;
		if (r != realizations)
			return FAIL(c, e->arg[i], "'%.*s' has %lld realization%s, '%.*s' has %lld",
			            EXPR_TEXT(e->arg[i]), (long long)r, r == 1 ? "" : "s",
			            EXPR_TEXT(e->arg[0]), (long long)realizations);
		width += of[i].components * (count_rows(c, &of[i]) / r);
	}
	if (width > INT32_MAX)
		return FAIL(c, e, "a snapshot of %lld values is too large", (long long)width);
	t->components = (int)width;
	return 0;
}

static int check_join(const struct check *c, const struct expr *e, struct expr_type *t)
{
	struct expr_type *of = ARENA_ARRAY(c->s->arena, struct expr_type, e->n);
	bool located = false, known = true;
	int rc = 0;
	for (int i = 0; i < e->n; i++) {
		int one = expr_check_tree(c, e->arg[i], &of[i]);
		rc = rc < 0 ? rc : one;
		located |= of[i].located;
		known &= of[i].components > 0;
	}
	if (rc < 0)
		return fail(rc, t);
	TRY(located ? join_snapshots(c, e, of, t) : join_components(c, e, of, t));
	if (!known)
		t->components = 0;
	return 0;
}

/* A network at e that is given n inputs of *t. */
static int check_inputs(const struct check *c, const struct expr *e, const struct expr_name *n,
                        int given, struct expr_type *t)
{
	if (n->ninput == given)
		return 0;
	return FAIL(c, e, "'%s' takes %d input%s, %s, but is given %d", n->name, n->ninput,
	            n->ninput == 1 ? "" : "s", expr_list_inputs(c, n), given);
}

/* What a critic reads, of a penalty two values which meet; *t becomes their type. */
static int check_samples(const struct check *c, const struct expr *e, struct expr_type *t)
{
	struct expr_type fake;
	int rc = expr_check_tree(c, e->arg[1], t);
	int other = e->n > 2 ? expr_check_tree(c, e->arg[2], &fake) : 0;
	if (rc == 0)
		rc = want_rows(c, e->arg[1], "", t);
	if (other == 0 && e->n > 2)
		other = want_rows(c, e->arg[2], "", &fake);
	if (rc < 0 || other < 0)
		return fail(rc < 0 ? rc : other, t);
	return e->n > 2 ? meet(c, e, e->arg[1], t, e->arg[2], &fake, true) : 0;
}

/* Of a slope, or of a penalty, which is a number. */
static int check_critic(const struct check *c, const struct expr *e, struct expr_type *t)
{
	const struct expr *critic = e->arg[0];
	const struct expr_name *n = expr_find_name(c->s, critic->name);
	int rc = check_samples(c, e, t), width = t->components;
	struct expr_type of;
	if (e->function == CALL_PENALTY)
		*t = (struct expr_type){ EXPR_OF_SCALAR, c->set, 1, 0, false };
	t->components = 1;
	if (!n)
		return expr_unknown_name(c, critic, critic->name, t);
	if (n->what != EXPR_NETWORK)
		return FAIL(c, critic, "'%s' is no network", n->name);
	if (rc == 0)
		rc = check_inputs(c, critic, n, 1, t);
	if (rc < 0)
		return fail(rc, t);
	if (n->components != 1)
		return FAIL(c, critic, "the critic '%s' must have one component, but has %d", n->name,
		            n->components);
	if (n->mixes)
		return FAIL(c, critic, "'%s' needs a critic whose samples do not depend on each other, "
		            "and '%s' has %s; layer_norm is possible", e->name, n->name, n->mixes);
	rc = expr_check_input(c, e->arg[1], n, 0, width, &of);
	if (rc < 0)
		return fail(rc, t);
	return c->depth ? FAIL(c, e, "'%s' cannot be derived by coordinates", e->name) : 0;
}

static int check_call(const struct check *c, const struct expr *e, struct expr_type *t)
{
	if (e->function < CALL_DERIVE)
		return check_meeting(c, e, false, t);
	if (e->function <= CALL_NORMAL)
		return check_derivative(c, e, t);
	if (e->function == CALL_JOIN)
		return check_join(c, e, t);
	if (e->function >= CALL_SLOPE)
		return check_critic(c, e, t);
	TRY(check_meeting(c, e, true, t));
	if (e->function == CALL_MEAN || e->function == CALL_SUM) {
		TRY(want_rows(c, e->arg[0], e->function == CALL_MEAN ? " to take the mean over"
		                                                     : " to take the sum over", t));
		t->extent = EXPR_OF_SCALAR;
		t->located = false;
	}
	t->components = 1;
	return 0;
}

/* --- the tree --- */

static int check_apply(const struct check *c, const struct expr *e, struct expr_type *t)
{
	const struct expr_name *n = expr_find_name(c->s, e->name);
	struct suggest near = { .word = e->name };
	expr_offer_functions(&near);
	for (int i = 0; i < c->s->nname; i++)
		if (c->s->name[i].what == EXPR_NETWORK)
			suggest_offer(&near, c->s->name[i].name);
	if (!n && !strcmp(e->name, "d"))
		return FAIL(c, e, "'d' takes what is derived and by which coordinates: d(%.*s, x)",
		            EXPR_TEXT(e->arg[0]));
	if (!n && !expr_find_bound(c->nbound, c->bound, e->name))
		return FAIL(c, e, "unknown function '%s'%s", e->name, expr_meant(c, &near));
	if (n && n->what == EXPR_LET)
		return FAIL(c, e, "'%s' is a let, which takes no arguments: '%s(at.SET)' is its value at a "
		            "set, and a product is written '%s * (...)'", e->name, e->name, e->name);
	if (!n || n->what != EXPR_NETWORK)
		return FAIL(c, e, "'%s' is neither a function nor a network; a product is written '%s * "
		            "(...)'",
		            e->name, e->name);
	int rc = check_inputs(c, e, n, e->n, t);
	struct expr_type all = { EXPR_OF_NUMBER, c->set, 1, 0, false }, of;
	for (int i = 0; i < e->n; i++) {
		int one = expr_check_tree(c, e->arg[i], &of);
		if (rc == 0 && one == 0)
			one = expr_check_input(c, e->arg[i], n, i, of.components, t);
		of.components = 1;   /* inputs meet in rows alone */
		if (rc == 0 && one == 0)
			one = meet(c, e, e->arg[0], &all, e->arg[i], &of, false);
		rc = rc < 0 ? rc : one;
	}
	if (rc < 0)
		return fail(rc, t);
	*t = all;
	t->components = n->components;
	if (!has_rows(t)) {
		t->extent = EXPR_OF_POINTS;
		t->set = c->set == EXPR_NOWHERE && !c->bound ? EXPR_ONE_POINT : c->set;
	}
	return expr_check_kink(c, e, n->name, n->kinked, n->mixes, t);
}

static int check_at(const struct check *c, const struct expr *e, struct expr_type *t)
{
	struct check inner = *c;
	if (c->bound)
		return fail(ERR(E_CONFIG, &e->set_loc,
		                "a network's own expressions cannot say where they are evaluated"), t);
	if (c->depth)
		return fail(ERR(E_CONFIG, &e->set_loc, "'@' cannot stand inside of a derivative; write it "
		                "after it: d(...) @ %s", e->set), t);
	inner.set = expr_check_set(c, e);
	if (inner.set < 0)
		return fail(inner.set, t);
	TRY(expr_check_tree(&inner, e->arg[0], t));
	t->located = has_rows(t);
	return 0;
}

static int check_component(const struct check *c, const struct expr *e, struct expr_type *t)
{
	TRY(expr_check_tree(c, e->arg[0], t));
	TRY(want_rows(c, e->arg[0], ", and so no components", t));
	if (t->components && e->index >= t->components)
		return FAIL(c, e, "'%.*s' has %d component%s, the last of which is [%d]",
		            EXPR_TEXT(e->arg[0]), t->components, t->components == 1 ? "" : "s",
		            t->components - 1);
	t->components = 1;
	return 0;
}

int expr_check_tree(const struct check *c, const struct expr *e, struct expr_type *t)
{
	*t = (struct expr_type){ EXPR_OF_NUMBER, c->set, 1, 0, false };
	switch (e->op) {
	case EXPR_NUMBER: return 0;
	case EXPR_NAME: return expr_check_word(c, e, e->name, NULL, t);
	case EXPR_MEMBER: return expr_check_member(c, e, t);
	case EXPR_COMPONENT: return check_component(c, e, t);
	case EXPR_AT: return check_at(c, e, t);
	case EXPR_APPLY: return check_apply(c, e, t);
	case EXPR_CALL: return check_call(c, e, t);
	default: return check_meeting(c, e, false, t);
	}
}

int expr_check(struct expr_scope *s, const struct expr *e, int set, struct expr_type *out)
{
	struct said said = { 0 };
	struct check c = { .s = s, .set = set, .said = &said };
	return expr_check_tree(&c, e, out);
}

int expr_check_term(struct expr_scope *s, const struct expr *e)
{
	struct expr_type type, *t = &type;
	TRY(expr_check(s, e, EXPR_NOWHERE, t));
	if (has_rows(t))
		return FAIL(NULL, e, "a term is one number, but '%.*s' has a value for each %s; write "
		            "mean(...) or sum(...)", EXPR_TEXT(e),
		            t->extent == EXPR_OF_POINTS ? "point" : "realization");
	if (t->extent == EXPR_OF_NUMBER)
		return FAIL(NULL, e, "the number '%.*s' is no term: nothing can be minimised",
		            EXPR_TEXT(e));
	return s->ranks > 1 ? expr_check_shares(s, e) : 0;
}

int expr_check_bound(struct expr_scope *s, const struct expr *e, int nbound,
                     const struct expr_bound *bound, struct expr_type *out)
{
	struct said said = { 0 };
	struct check c = { .s = s, .set = EXPR_NOWHERE, .nbound = nbound, .bound = bound,
		               .said = &said };
	return expr_check_tree(&c, e, out);
}
