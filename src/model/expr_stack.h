/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The applications of networks in an emission, and the derivatives that are needed of each. */
#ifndef DLX_MODEL_EXPR_STACK_H
#define DLX_MODEL_EXPR_STACK_H

#include "model/expr_derive.h"
#include "model/streams.h"

/* A derivative of an application's value that is needed. */
struct wish {
	struct wish *next;
	struct stream s;
	tid t;
	bool live;                   /* in the trial emission: something depends on this derivative */
};

/* The tensors that networks are applied to, and derivatives of these that the trial emission has
 * found. */
struct root {
	struct root *next;
	tid t;
};

/* One application of a network: dense layers applied to x. */
struct stack {
	struct stack *next;
	int number;                  /* number of the application, in the order of emission */
	const char *why;             /* why derivatives cannot be propagated forward through it; NULL:
	                              * they can */
	bool valued;                 /* in the trial emission: y itself is needed */
	tid x, y;
	struct wish *wishes;
	const struct stack *foreseen;    /* the same application in the trial emission */
};

/* The application whose value, or derivative *s of its value, is y; or NULL. */
struct stack *stack_find(const struct expr_emission *m, tid y, struct stream *s);
/* Emits the derivative s of k's value. */
int stack_stream(struct expr_emission *m, struct stack *k, const struct stream *s, tid *out);
void stack_root(struct expr_emission *m, tid t);

#endif
