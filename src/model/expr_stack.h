/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Applications of networks and the derivatives that are wanted of them. */
#ifndef DLX_MODEL_EXPR_STACK_H
#define DLX_MODEL_EXPR_STACK_H

#include "model/expr_derive.h"
#include "model/streams.h"

/* A derivative of an application's value. */
struct wish {
	struct wish *next;
	struct stream s;
	tid t;
	bool live;                   /* of what was foreseen: something depends on it */
};

/* What networks are applied to, and its derivatives, where those were foreseen. */
struct root {
	struct root *next;
	tid t;
};

/* Dense layers applied to x. */
struct stack {
	struct stack *next;
	int number;                  /* in the order of emission */
	const char *why;             /* derivatives cannot travel through; NULL: they can */
	bool valued;                 /* of what was foreseen: y itself is wanted */
	tid x, y;
	struct wish *wishes;
	const struct stack *foreseen;    /* what was known of it when it was emitted */
};

/* The application that y is the value or a derivative of, *s, or NULL. */
struct stack *stack_find(const struct expr_emission *m, tid y, struct stream *s);
/* The derivative s of k's value. */
int stack_stream(struct expr_emission *m, struct stack *k, const struct stream *s, tid *out);
void stack_root(struct expr_emission *m, tid t);

#endif
