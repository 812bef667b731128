/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values during emission. One with several components is one tensor (a network's outputs), or a
 * tensor for each component where they were made one by one (a gradient): then what is computed of
 * it stays apart as well, and a derivative of one component differentiates no other. */
#ifndef DLX_MODEL_EXPR_VALUE_H
#define DLX_MODEL_EXPR_VALUE_H

#include "model/expr_tree.h"

struct value {
	enum expr_extent extent;
	double number;               /* EXPR_OF_NUMBER */
	int set;                     /* as in struct expr_type */
	bool located;
	int64_t rows;                /* 0: none */
	int components;
	tid whole;                   /* (rows, components) or (); NONE: only its parts are there yet */
	tid *part;                   /* (rows, 1) each; NULL: it is one tensor */
};

struct column;
/* Where slices are kept, so that a component is one tensor wherever it is used. */
struct values {
	struct graph *g;
	struct arena *arena;
	struct column *columns;
};

struct value value_number(double number);
/* One tensor: (rows, components), or () where that has no axes. */
struct value value_of(const struct graph *g, tid t, int set);
/* n tensors (rows, 1), copied. */
struct value value_parts(struct values *m, int n, const tid *part, int set);

/* v as one tensor: of `rows` rows where it has none itself, unless rows is 0. */
int value_whole(struct values *m, struct value *v, int64_t rows, tid *out);
/* Component k of v, which has rows: (rows, 1). */
int value_part(struct values *m, const struct value *v, int k, tid *out);

/* An operator on tensors of one shape. */
typedef int value_operator(struct graph *g, const void *of, const tid *in, tid *out);
/* Applies it to n values, component by component or to all at once; values of one component, and
 * without rows, are repeated. None or not all are numbers. */
int value_map(struct values *m, value_operator *f, const void *of, int n, struct value *v,
              struct value *out);

#endif
