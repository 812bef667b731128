/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What of an input an output depends on, found in the graph of a network: the receptive field,
 * which decides whether a large field can be computed tile by tile, and the total stride, of
 * which the extents of an input have to be multiples so that every layer cuts it evenly. No
 * pass: it changes nothing. */
#ifndef DLX_PASS_RECEPTIVE_FIELD_H
#define DLX_PASS_RECEPTIVE_FIELD_H

#include "graph/graph.h"

#define RECEPTIVE_AXES 3

/* Along one spatial axis output i depends on the inputs from i num / den + lo to i num / den + hi,
 * rounded outwards. num / den is in lowest terms; num 0: the output has no such axis. */
struct receptive_axis {
	int64_t num, den;
	double lo, hi;
	int64_t extent;                  /* of the output, which may depend on the input's */
};

struct receptive_field {
	int axes;                        /* spatial axes of the input */
	struct receptive_axis axis[RECEPTIVE_AXES];    /* outermost first */
	int64_t stride[RECEPTIVE_AXES];  /* the total stride: least common
	                                  * multiple of all tensors' steps */
	/* Whether outputs depend on a part of the input that moves with them. If not, `why` is the
	 * first node behind which they do not: a mean over all places, a dense layer, a resize to
	 * another size than a multiple. */
	bool finite;
	const struct node *why;
	/* Whether interpolation has the same weights wherever a tile begins, to the last bit: not where
	 * it resizes by a factor that is no power of two. */
	bool exact;
};

/* Of the tensors `input` (N, C, spatial axes) and `output` of a graph as the builder of a network
 * makes it, for evaluation or prediction. Ops that it does not know count as dependent on all. */
void receptive_field_find(const struct graph *g, tid input, tid output,
                          struct receptive_field *out);

/* Whether there is a rule for an op; others count as dependent on all of their input. For tests. */
bool receptive_field_knows(const char *op);

/* The first and the last input that output i depends on along axis k, not cut to the input. */
int64_t receptive_first(const struct receptive_field *r, int k, int64_t i);
int64_t receptive_last(const struct receptive_field *r, int k, int64_t i);

#endif
