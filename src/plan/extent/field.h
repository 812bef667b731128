/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Evaluation and prediction read the whole field of a sample, even if training reads windows of it.
 * The field is padded with zeros at its end, to extents that each of the network's strides divides.
 * The part of the output that belongs to the padding is cut off, so it enters no loss and no
 * metric. */
#ifndef DLX_PLAN_EXTENT_FIELD_H
#define DLX_PLAN_EXTENT_FIELD_H

#include "graph/graph.h"

#define FIELD_AXES 3

struct plan_field {
	struct shape input, target;      /* shapes of one sample; input.nd 0: as in training */
	int64_t pad[FIELD_AXES];         /* zeros at the end of each spatial axis of
	                                  * the input, outermost first */
	const struct graph_whole *whole; /* for a tile, the graph of the whole field; else NULL */
};

/* Sets f->pad so that the padded extents of f->input are multiples of stride[]. */
void field_pad_to(struct plan_field *f, const int64_t stride[FIELD_AXES]);
/* The padded shape of one sample, which the network reads. */
struct shape field_padded(const struct plan_field *f);
/* Emits the padding of a batch x; *out is x itself if there is none. The nodes emitted between this
 * call and field_emit_cut are the network, or its piece for a tile. */
int field_emit_pad(struct graph *g, const struct plan_field *f, tid x, tid *out);
/* Emits the part of the network's output y that belongs to the unpadded field. It cuts each axis
 * whose extent is that of the padded input, a whole fraction of it, or a multiple of it. */
int field_emit_cut(struct graph *g, const struct plan_field *f, tid y, tid *out);
/* The extent of an output axis for a field of extent n, if that for extent `padded` is y. */
int64_t field_cut_extent(int64_t y, int64_t padded, int64_t n);

#endif
