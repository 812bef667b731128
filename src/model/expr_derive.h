/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derivatives with respect to coordinates, and the state of an emission that they share with
 * expr_emit.c. */
#ifndef DLX_MODEL_EXPR_DERIVE_H
#define DLX_MODEL_EXPR_DERIVE_H

#include "model/expr_value.h"

/* A leaf tensor that the host has made; `what` EXPR_NETWORK marks the normals of a set. */
struct leaf {
	struct leaf *next;
	int set;
	enum expr_what what;
	const char *name;
	tid t;
};

/* Algorithms for derivatives, in the order in which they are tried; BY_REVERSE is always possible.
 * BY_SUMS: forward mode with sums of second derivatives as one stream; BY_STREAMS: forward mode;
 * BY_REVERSE: reverse mode. */
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
	bool foreseeing;             /* a trial emission whose nodes are discarded */
	bool refused;                /* the algorithm `how` has turned out to be impossible */
	const char *why;             /* why forward mode is impossible; NULL: it is possible */
	bool derives;                /* the expressions contain derivatives */
	int nstream;                 /* largest number of streams through one network */
	struct stack *stacks, *foreseen;     /* an element for each application of a network, the last
	                                      * one first */
	int nstack;
	struct root *roots;
	struct second *seconds;
};

/* Where an expression is evaluated. */
struct site {
	int set;                     /* index of the set, or EXPR_NOWHERE */
	int64_t rows;                /* number of rows; 0: nowhere */
	int nbound;
	const struct expr_bound *bound;   /* NULL: no names are bound */
};

/* The tensor of a name at a set, made by the host when it is first needed. */
int expr_leaf(struct expr_emission *m, int set, enum expr_what what, const char *name, tid *out);
/* dx[i] = d(sum of y) / dx[i], NONE where y does not depend on it. Nodes are of the graph's current
 * phase. */
int expr_differentiate(struct expr_emission *m, tid y, int nx, const tid *x, tid *dx);
/* Emits the call e, which is one of the derivatives, applied to the value v. */
int expr_emit_derivative(struct expr_emission *m, const struct site *f, const struct expr *e,
                         struct value *v, struct value *out);

#endif
