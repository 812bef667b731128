/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The walk that checks expressions, for its two files: names, and values that are made of others.
 * Each function fills *t; on a mistake, which it reports, with no components. */
#ifndef DLX_MODEL_EXPR_CHECK_H
#define DLX_MODEL_EXPR_CHECK_H

#include "base/err.h"
#include "model/expr_tree.h"

/* A `let` or a network whose inputs are walked: names in a circle are found on this list. */
struct opened {
	const struct opened *outer;
	const struct expr_name *name;
};

/* What has been reported of an expression, which is not reported again. */
struct said {
	bool nowhere;                /* that it does not say where */
	const struct expr_name *lacking;     /* that the set has no such name */
	int set;
};

struct check {
	struct expr_scope *s;
	int set;                     /* where, or EXPR_NOWHERE, EXPR_ANYWHERE */
	int nbound;
	const struct expr_bound *bound;   /* NULL: no names are bound */
	int depth;                   /* derivatives around, 2 for more */
	uint64_t by;                 /* the coordinates that they are by */
	const struct opened *opened;
	const struct expr *use;      /* the `let` named in the text itself that this is within; NULL */
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

/* `name`, which stands at e or is an input of `taker` (NULL: none), which does. */
int expr_check_word(const struct check *c, const struct expr *e, const char *name,
                    const struct expr_name *taker, struct expr_type *t);
/* The coordinate, array or noise n, which `taker` needs here. */
int expr_check_given(const struct check *c, const struct expr *e, const struct expr_name *n,
                     const struct expr_name *taker, struct expr_type *t);
int expr_check_member(const struct check *c, const struct expr *e, struct expr_type *t);
/* The value of a network at e, with `kinked` and `mixes` of struct expr_name, and of type *t:
 * whether it can be derived as often as it is. */
int expr_check_kink(const struct check *c, const struct expr *e, const char *name,
                    const char *kinked, const char *mixes, struct expr_type *t);
/* Input i of network n is given these components (0: not known), by e. */
int expr_check_input(const struct check *c, const struct expr *e, const struct expr_name *n, int i,
                     int components, struct expr_type *t);
int expr_unknown_name(const struct check *c, const struct expr *e, const char *name,
                      struct expr_type *t);
/* A value at points where nothing says at which. Said once, where a set can be named. */
int expr_nowhere(const struct check *c, const struct expr *e, struct expr_type *t);
/* The set that e names, or an error. */
int expr_check_set(const struct check *c, const struct expr *e);
/* "; did you mean 'x'?" or "", and lists for messages: "x, t". */
struct suggest;
const char *expr_meant(const struct check *c, const struct suggest *near);
const char *expr_list_axes(const struct check *c, const struct expr_set *set, bool spatial);
const char *expr_list_inputs(const struct check *c, const struct expr_name *n);

#endif
