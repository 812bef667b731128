/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tree of an expression, for the files that read, check and emit it. */
#ifndef DLX_MODEL_EXPR_TREE_H
#define DLX_MODEL_EXPR_TREE_H

#include "model/expr.h"

#define EXPR_ARGUMENTS 100    /* most of a call */

enum expr_op {
	EXPR_NUMBER,
	EXPR_NAME,
	EXPR_MEMBER,         /* set.name, an array */
	EXPR_NEGATE,
	EXPR_ADD,
	EXPR_SUBTRACT,
	EXPR_MULTIPLY,
	EXPR_DIVIDE,
	EXPR_POWER,
	EXPR_COMPONENT,
	EXPR_AT,             /* arg[0] at `set` */
	EXPR_APPLY,          /* network `name` of arg[] */
	EXPR_CALL            /* `function` of arg[] */
};

enum expr_call {
	/* of one value, each component for itself */
	CALL_SIN, CALL_COS, CALL_TAN, CALL_EXP, CALL_LOG, CALL_SQRT, CALL_ABS, CALL_TANH, CALL_SINH,
	CALL_COSH, CALL_SIGMOID, CALL_SOFTPLUS,
	/* of several values, each component for itself */
	CALL_MIN, CALL_MAX, CALL_POW, CALL_SELECT,
	/* derivatives */
	CALL_DERIVE, CALL_GRAD, CALL_DIV, CALL_LAPLACIAN, CALL_NORMAL,
	/* over components, over points, of networks */
	CALL_DOT, CALL_NORM, CALL_MEAN, CALL_SUM, CALL_JOIN, CALL_SLOPE, CALL_PENALTY
};

struct expr {
	enum expr_op op;
	enum expr_call function;
	struct loc loc;              /* of its word or sign; EXPR_AT: of what is at the set */
	const char *text;            /* the part of the scalar that it was read from, */
	int length;                  /* these bytes */
	double number;
	const char *name, *set;
	struct loc set_loc;          /* of the word `set` */
	int index;                   /* EXPR_COMPONENT */
	int n;
	const struct expr **arg;
};

/* What e has as its value if its arguments are these numbers; e is arithmetic, or a function up to
 * CALL_SELECT. E_CONFIG if that is not finite. */
int expr_compute(const struct expr *e, const double *v, double *out);
/* For "%.*s": the text of e, cut where it is long. */
#define EXPR_TEXT_MAX 60
#define EXPR_TEXT(e) ((e)->length < EXPR_TEXT_MAX ? (e)->length : EXPR_TEXT_MAX), (e)->text
/* Offers the names of functions to a search for the name meant. */
struct suggest;
void expr_offer_functions(struct suggest *near);

/* What the scope has, or NULL and NONE. An array that shares its name with something else is found
 * by expr_find_array alone. */
const struct expr_name *expr_find_name(const struct expr_scope *s, const char *name);
const struct expr_name *expr_find_array(const struct expr_scope *s, const char *name);
int expr_find_set(const struct expr_scope *s, const char *name);
int expr_find_axis(const struct expr_set *set, const char *name);
bool expr_has_array(const struct expr_set *set, const char *name);
const struct expr_bound *expr_find_bound(int nbound, const struct expr_bound *bound,
                                         const char *name);
/* Of a name of the scope that is a coordinate: 1 << its number among them. */
uint64_t expr_coordinate_bit(const struct expr_scope *s, const struct expr_name *name);

#endif
