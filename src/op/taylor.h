/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The op taylor, for code that emits it: an activation applied to a truncated Taylor series, whose
 * coefficients are tensors ("streams"). */
#ifndef DLX_OP_TAYLOR_H
#define DLX_OP_TAYLOR_H

#include "graph/graph.h"
#include "yaml/schema.h"

enum taylor_of {
	TAYLOR_TANH, TAYLOR_SIN, TAYLOR_SILU, TAYLOR_GELU, TAYLOR_SIGMOID, TAYLOR_SOFTPLUS
};
/* The activation with this name, or NONE. */
int taylor_find(const char *activation);

#define TAYLOR_FACTORS 10
#define TAYLOR_ORDER 10          /* highest derivative of the activation */

/* A term of output stream `out`: coefficient f^(order)(z) factor[0] factor[1] ... A factor is the
 * number of an input stream, 1 or more. */
struct taylor_term {
	int out, order, coefficient, n;
	int factor[TAYLOR_FACTORS];      /* ascending */
};

struct taylor_terms {
	int n, cap;
	struct taylor_term *v;
};

/* Adds a copy of t, whose factors may be in any order. If an equal term of the same stream exists,
 * its coefficient grows instead. Memory comes from a. E_UNSUPPORTED: t has too many factors or too
 * high an order. */
int taylor_add(struct arena *a, struct taylor_terms *terms, const struct taylor_term *t);

/* Emits the node. z: `streams` input streams; bias is added to the first one, NONE: no bias. y:
 * `outputs` output streams. */
int taylor_emit(struct graph *g, enum taylor_of f, tid z, int streams, tid bias, int outputs,
                const struct taylor_terms *terms, tid *y);

#endif
