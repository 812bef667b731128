/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values during emission. A value with several components is either one tensor (the outputs of a
 * network) or a tensor for each component if they were computed one by one (a gradient). Results of
 * such a value are kept as separate components too, so that the derivative of one component does
 * not differentiate the others. */
#ifndef DLX_MODEL_EXPR_VALUE_H
#define DLX_MODEL_EXPR_VALUE_H

#include "model/expr_tree.h"

struct value {
	enum expr_extent extent;
	double number;               /* EXPR_OF_NUMBER */
	int set;                     /* as in struct expr_type */
	bool located;
	int64_t rows;                /* number of rows; 0: a scalar or number */
	int components;
	tid whole;                   /* one tensor (rows, components) or (); NONE: only its parts exist
	                              * so far */
	tid *part;                   /* a tensor (rows, 1) for each component; NULL: the value is one
	                              * tensor */
};

struct column;
/* A cache of slices, so that each component is the same tensor in all uses. */
struct values {
	struct graph *g;
	struct arena *arena;
	struct column *columns;
};

struct value value_number(double number);
/* The value of tensor t: (rows, components), or () if it has no axes. */
struct value value_of(const struct graph *g, tid t, int set);
/* The value with n components, a tensor (rows, 1) each; the list is copied. */
struct value value_parts(struct values *m, int n, const tid *part, int set);

/* Makes v one tensor. If v has no rows itself it is repeated to `rows` rows, unless rows is 0. */
int value_whole(struct values *m, struct value *v, int64_t rows, tid *out);
/* Component k of v as a tensor (rows, 1). v must have rows. */
int value_part(struct values *m, const struct value *v, int k, tid *out);

/* An operator on tensors of one shape. */
typedef int value_operator(struct graph *g, const void *of, const tid *in, tid *out);
/* Applies f to n values, component by component or to whole tensors. Values of one component or
 * without rows are repeated. Not all values may be numbers. */
int value_map(struct values *m, value_operator *f, const void *of, int n, struct value *v,
              struct value *out);

#endif
