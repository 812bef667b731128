/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receptive field of a network and its total stride, found by analysis of its graph. The
 * receptive field is the part of the input that one output element depends on; it decides whether a
 * large field can be computed tile by tile. The extents of an input have to be multiples of the
 * total stride for every layer to divide them evenly. The graph stays as it is. */
#ifndef DLX_PASS_RECEPTIVE_FIELD_H
#define DLX_PASS_RECEPTIVE_FIELD_H

#include "graph/graph.h"

#define RECEPTIVE_AXES 3

/* The receptive field along one spatial axis. num / den is in lowest terms; num 0: the output has
 * no such axis. The other members are set if the field is finite. */
struct receptive_axis {
	int64_t num, den;                /* distance of neighbouring outputs, in inputs */
	int64_t extent;                  /* number of outputs; it may depend on that of inputs */
	int64_t lo, hi;                  /* output 0 depends on inputs lo to hi - 1 */
	/* Outputs begin to end - 1 depend on inputs alone, not on padding before the first or after the
	 * last input. The interval is not clipped to the output. */
	int64_t begin, end;
};

struct receptive_field {
	int axes;                        /* number of spatial axes of the input */
	struct receptive_axis axis[RECEPTIVE_AXES];    /* outermost first */
	int64_t stride[RECEPTIVE_AXES];  /* total stride along each axis: least common multiple of all
	                                  * tensors' steps */
	/* Whether each output depends on a bounded window of the input that moves with it. If not,
	 * `why` is the first node that breaks this: a mean over all positions, a dense layer, or a
	 * resize that aligns corners. */
	bool finite;
	const struct node *why;
	/* Whether interpolation uses bitwise the same weights wherever a tile begins. False if a resize
	 * rounds to the nearest position. */
	bool exact;
};

/* Analyses the tensors `input` (N, C, spatial axes) and `output` of a graph as the builder of a
 * network makes it for evaluation or prediction. */
void receptive_field_find(const struct graph *g, tid input, tid output,
                          struct receptive_field *out);

/* The distance, in elements of in[i], of two neighbouring outputs of n along spatial axis k, as a
 * fraction in lowest terms. Returns false if n reads all of in[i] along that axis, or one position
 * only. */
bool receptive_step(const struct graph *g, const struct node *n, int i, int k, int64_t *num,
                    int64_t *den);

/* Replaces the interval *lo to *hi of outputs along spatial axis k (0: outermost) by the interval
 * of inputs that they depend on, by applying op.reads of all nodes in between. Neither interval is
 * clipped to its tensor. Returns false, and leaves *lo and *hi as they are, if the outputs depend
 * on the whole input or on none of it. */
bool receptive_interval(const struct graph *g, tid input, tid output, int k, int64_t *lo,
                        int64_t *hi);

#endif
