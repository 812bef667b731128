/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The op taylor for code that emits it: an activation applied to the streams of a Taylor series. */
#ifndef DLX_OP_TAYLOR_H
#define DLX_OP_TAYLOR_H

#include "graph/graph.h"
#include "yaml/schema.h"

enum taylor_of {
	TAYLOR_TANH, TAYLOR_SIN, TAYLOR_SILU, TAYLOR_GELU, TAYLOR_SIGMOID, TAYLOR_SOFTPLUS
};
/* The activation of this name, or NONE. */
int taylor_find(const char *activation);

#define TAYLOR_FACTORS 10
#define TAYLOR_ORDER 10          /* of a derivative of the activation */

/* coefficient f^(order)(z) factor[0] factor[1] ... of a stream of the output; factors are numbers
 * of streams of the inputs, from 1 on. */
struct taylor_term {
	int out, order, coefficient, n;
	int factor[TAYLOR_FACTORS];      /* ascending */
};

struct taylor_terms {
	int n, cap;
	struct taylor_term *v;
};

/* Adds t, whose factors may have any order; an equal term of the same stream takes its coefficient.
 * Storage is in a. E_UNSUPPORTED: there are too many factors, or derivatives of f. */
int taylor_add(struct arena *a, struct taylor_terms *terms, const struct taylor_term *t);

/* y, `outputs` streams of what z, `streams` of them, and bias (or NONE) become. */
int taylor_emit(struct graph *g, enum taylor_of f, tid z, int streams, tid bias, int outputs,
                const struct taylor_terms *terms, tid *y);

#endif
