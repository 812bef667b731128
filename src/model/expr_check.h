/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The recursive check of expressions, shared by expr_check.c (values made of other values) and
 * expr_check_names.c (names). Each function sets *t, the type of the value. On a mistake it reports
 * the mistake and sets t->components to 0. */
#ifndef DLX_MODEL_EXPR_CHECK_H
#define DLX_MODEL_EXPR_CHECK_H

#include "base/err.h"
#include "model/expr_tree.h"

/* The stack of `let` expressions and networks that are being checked, to detect circular
 * definitions. */
struct opened {
	const struct opened *outer;
	const struct expr_name *name;
};

/* Mistakes of an expression that have been reported, so that none is reported twice. */
struct said {
	bool nowhere;                /* that the expression does not say where it is evaluated */
	const struct expr_name *lacking;     /* the name that the set was reported to lack */
	int set;
};

struct check {
	struct expr_scope *s;
	int set;                     /* where the expression is evaluated: a set, EXPR_NOWHERE or
	                              * EXPR_ANYWHERE */
	int nbound;
	const struct expr_bound *bound;   /* NULL: no names are bound */
	int depth;                   /* number of derivatives that enclose this place, 2 for more */
	uint64_t by;                 /* bit set of the coordinates of these derivatives */
	const struct opened *opened;
	const struct expr *use;      /* the use of a `let` in the checked text whose definition is being
	                              * checked; NULL: none */
	struct said *said;
};

static inline int fail(int rc, struct expr_type *t)
{
	t->components = 0;
	return rc;
}
#define FAIL(c, e, ...) fail(ERR(E_CONFIG, &(e)->loc, __VA_ARGS__), t)

static inline const struct expr_set *set_of(const struct check *c, int set)
{
	return set >= 0 ? &c->s->set[set] : NULL;
}

static inline bool has_rows(const struct expr_type *t)
{
	return t->extent == EXPR_OF_POINTS || t->extent == EXPR_OF_SNAPSHOTS;
}

/* --- expr_check.c --- */

int expr_check_tree(const struct check *c, const struct expr *e, struct expr_type *t);

/* --- expr_check_names.c --- */

/* Checks `name`, which is written at e, or is an input that the network `taker` (NULL: none)
 * written at e needs. */
int expr_check_word(const struct check *c, const struct expr *e, const char *name,
                    const struct expr_name *taker, struct expr_type *t);
/* Checks the coordinate, array or noise n, which the network `taker` needs here. */
int expr_check_given(const struct check *c, const struct expr *e, const struct expr_name *n,
                     const struct expr_name *taker, struct expr_type *t);
int expr_check_member(const struct check *c, const struct expr *e, struct expr_type *t);
/* Checks that the value of a network at e, of type *t, can be differentiated as often as the
 * enclosing derivatives require. kinked, mixes: as in struct expr_name. */
int expr_check_kink(const struct check *c, const struct expr *e, const char *name,
                    const char *kinked, const char *mixes, struct expr_type *t);
/* Checks that input i of network n may have this number of components (0: unknown), as the argument
 * e has. */
int expr_check_input(const struct check *c, const struct expr *e, const struct expr_name *n, int i,
                     int components, struct expr_type *t);
int expr_unknown_name(const struct check *c, const struct expr *e, const char *name,
                      struct expr_type *t);
/* Reports that e is a value at points but nothing says at which set. Reported once for each place
 * where a set can be named. */
int expr_nowhere(const struct check *c, const struct expr *e, struct expr_type *t);
/* Returns the index of the set that e names, or an error. */
int expr_check_set(const struct check *c, const struct expr *e);
/* Parts of messages: expr_meant gives "; did you mean 'x'?" or "", the others give lists as "x,
 * t". */
struct suggest;
const char *expr_meant(const struct check *c, const struct suggest *near);
const char *expr_list_axes(const struct check *c, const struct expr_set *set, bool spatial);
const char *expr_list_inputs(const struct check *c, const struct expr_name *n);

/* Checks a term of an objective, which has no other mistakes, when s->ranks ranks share the points:
 * it must be a linear function of means and sums over points, else E_CONFIG. Otherwise the mean of
 * the ranks' values would differ from the value on one rank. */
int expr_check_shares(const struct expr_scope *s, const struct expr *e);

#endif
