/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What evaluation and prediction see of a sample, where training sees windows of it: the whole
 * field. The network gets it with zeros at its end, up to extents that each of its layers cuts
 * evenly, and of its output what belongs to those zeros is cut off: loss and metrics never see
 * them. */
#ifndef DLX_PLAN_EXTENT_FIELD_H
#define DLX_PLAN_EXTENT_FIELD_H

#include "graph/graph.h"

#define FIELD_AXES 3

struct plan_field {
	struct shape input, target;      /* of one sample; input.nd 0: as in training */
	int64_t pad[FIELD_AXES];         /* zeros at the end of each spatial axis of
	                                  * the input, outermost first */
	const struct graph_whole *whole; /* of a tile: the graph of the whole
	                                  * field; NULL: it is no tile */
};

/* Zeros that make the extents of f->input multiples of stride[]. */
void field_pad_to(struct plan_field *f, const int64_t stride[FIELD_AXES]);
/* The shape that the network gets of one sample. */
struct shape field_padded(const struct plan_field *f);
/* Emits the zeros at the end of a batch x; *out is x itself where there are none. What g gets until
 * field_emit_cut is the network: that of a tile, where f is one. */
int field_emit_pad(struct graph *g, const struct plan_field *f, tid x, tid *out);
/* Emits what is left of the output y of a network whose input was so padded: of an axis that is as
 * long as the padded input's, or a whole share or multiple of it, what belongs to the field. */
int field_emit_cut(struct graph *g, const struct plan_field *f, tid y, tid *out);
/* How long an axis of the output is for a field of n, where it is y for one of `padded`. */
int64_t field_cut_extent(int64_t y, int64_t padded, int64_t n);

#endif
