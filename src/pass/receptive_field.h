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

/* Along one spatial axis. num / den is in lowest terms; num 0: the output has no such axis. The
 * rest is of a field that is finite. */
struct receptive_axis {
	int64_t num, den;                /* outputs are num / den inputs apart */
	int64_t extent;                  /* of the output, which may depend on the input's */
	int64_t lo, hi;                  /* the inputs that output 0 depends on */
	/* Outputs begin to end - 1 depend on nothing before the input's first place and nothing
	 * after its last; neither is cut to the output. */
	int64_t begin, end;
};

struct receptive_field {
	int axes;                        /* spatial axes of the input */
	struct receptive_axis axis[RECEPTIVE_AXES];    /* outermost first */
	int64_t stride[RECEPTIVE_AXES];  /* the total stride: least common
	                                  * multiple of all tensors' steps */
	/* Whether outputs depend on a part of the input that moves with them. If not, `why` is the
	 * first node after which they do not: a mean over all places, a dense layer, a resize that
	 * aligns corners. */
	bool finite;
	const struct node *why;
	/* Whether interpolation has the same weights wherever a tile begins, to the last bit: not where
	 * nearest places are rounded. */
	bool exact;
};

/* Of the tensors `input` (N, C, spatial axes) and `output` of a graph as the builder of a network
 * makes it, for evaluation or prediction. */
void receptive_field_find(const struct graph *g, tid input, tid output,
                          struct receptive_field *out);

/* How many of in[i] neighbouring outputs of n are apart along spatial axis k, a fraction in lowest
 * terms; false: n reads all of in[i] along it, or one place alone. */
bool receptive_step(const struct graph *g, const struct node *n, int i, int k, int64_t *num,
                    int64_t *den);

/* Turns an interval of outputs along spatial axis k, outermost first, into that of the inputs that
 * these depend on, by op.reads of all nodes in between; neither is cut to its tensor. False: they
 * depend on all of the input, or on none; *lo and *hi are then as before. */
bool receptive_interval(const struct graph *g, tid input, tid output, int k, int64_t *lo,
                        int64_t *hi);

#endif
