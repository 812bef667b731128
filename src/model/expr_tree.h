/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tree of an expression, for the files that read, check and emit it. */
#ifndef DLX_MODEL_EXPR_TREE_H
#define DLX_MODEL_EXPR_TREE_H

#include "model/expr.h"

#define EXPR_ARGUMENTS 100    /* largest number of arguments of a call */

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
	/* functions of one value, applied to each component */
	CALL_SIN, CALL_COS, CALL_TAN, CALL_EXP, CALL_LOG, CALL_SQRT, CALL_ABS, CALL_TANH, CALL_SINH,
	CALL_COSH, CALL_SIGMOID, CALL_SOFTPLUS,
	/* functions of several values, applied component by component */
	CALL_MIN, CALL_MAX, CALL_POW, CALL_SELECT,
	/* derivatives */
	CALL_DERIVE, CALL_GRAD, CALL_DIV, CALL_LAPLACIAN, CALL_NORMAL,
	/* reductions over components or points, and functions of networks */
	CALL_DOT, CALL_NORM, CALL_MEAN, CALL_SUM, CALL_JOIN, CALL_SLOPE, CALL_PENALTY
};

struct expr {
	enum expr_op op;
	enum expr_call function;
	struct loc loc;              /* location of its word or operator; EXPR_AT: that of the left
	                              * operand */
	const char *text;            /* start of its text within the YAML scalar, and */
	int length;                  /* its length in bytes */
	double number;
	const char *name, *set;
	struct loc set_loc;          /* of the word `set` */
	int index;                   /* EXPR_COMPONENT */
	int n;
	const struct expr **arg;
};

/* Computes e for numeric arguments v. e is arithmetic, or a function up to CALL_SELECT. E_CONFIG if
 * the result is not finite. */
int expr_compute(const struct expr *e, const double *v, double *out);
/* Arguments for "%.*s": the text of e, truncated if it is long. */
#define EXPR_TEXT_MAX 60
#define EXPR_TEXT(e) ((e)->length < EXPR_TEXT_MAX ? (e)->length : EXPR_TEXT_MAX), (e)->text
/* Adds the names of functions to the candidates of a "did you mean" search. */
struct suggest;
void expr_offer_functions(struct suggest *near);

/* Look-ups by name; NULL or NONE if there is none. An array that shares its name with something
 * else is found only by expr_find_array. */
const struct expr_name *expr_find_name(const struct expr_scope *s, const char *name);
const struct expr_name *expr_find_array(const struct expr_scope *s, const char *name);
int expr_find_set(const struct expr_scope *s, const char *name);
int expr_find_axis(const struct expr_set *set, const char *name);
bool expr_has_array(const struct expr_set *set, const char *name);
const struct expr_bound *expr_find_bound(int nbound, const struct expr_bound *bound,
                                         const char *name);
/* For a coordinate of the scope: 1 << its number among the coordinates. */
uint64_t expr_coordinate_bit(const struct expr_scope *s, const struct expr_name *name);

#endif
