/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derivatives by coordinates during emission, and what they share with the rest of it. */
#ifndef DLX_MODEL_EXPR_DERIVE_H
#define DLX_MODEL_EXPR_DERIVE_H

#include "model/expr_value.h"

/* A tensor that the host has made; EXPR_NETWORK stands for normals. */
struct leaf {
	struct leaf *next;
	int set;
	enum expr_what what;
	const char *name;
	tid t;
};

/* How derivatives are taken, from the one that is tried first to the one that always can. */
enum derivation { BY_SUMS, BY_STREAMS, BY_REVERSE };

struct derived {
	struct derived *next;
	tid y, x, dx;                /* dx: NONE where y does not depend on x */
};

struct stack;
struct root;
struct second;
struct applied;
struct let_value;
struct expr_emission {
	struct values v;
	struct expr_scope *s;
	const struct expr_host *host;
	struct leaf *leaves;
	struct applied *applied;
	struct let_value *lets;
	struct derived *derived;
	/* expr_forward.c */
	enum derivation how;
	bool foreseeing;             /* nothing of what is emitted stays */
	bool refused;                /* `how` cannot be */
	const char *why;             /* derivatives cannot travel forward; NULL: they can */
	bool derives;                /* there are derivatives */
	int nstream;                 /* the most that travel through one network */
	struct stack *stacks, *foreseen;     /* by application of a network, the last one first */
	int nstack;
	struct root *roots;
	struct second *seconds;
};

/* Where an expression is evaluated. */
struct site {
	int set;                     /* or EXPR_NOWHERE */
	int64_t rows;                /* 0: nowhere */
	int nbound;
	const struct expr_bound *bound;   /* NULL: no names are bound */
};

/* The tensor of a name at a set, made by the host when it is first needed. */
int expr_leaf(struct expr_emission *m, int set, enum expr_what what, const char *name, tid *out);
/* dx[i] = d(sum of y) / dx[i], NONE where y does not depend on it. Nodes are of the graph's current
 * phase. */
int expr_differentiate(struct expr_emission *m, tid y, int nx, const tid *x, tid *dx);
/* The call e, one of the derivatives, of the value v. */
int expr_emit_derivative(struct expr_emission *m, const struct site *f, const struct expr *e,
                         struct value *v, struct value *out);

#endif
