/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attributes of resize and resize_grad, and the interpolation that they describe along one
 * axis. */
#ifndef DLX_OP_RESIZE_H
#define DLX_OP_RESIZE_H

#include "graph/op.h"

/* If `whole` is set, the tensor is a piece of a larger one, and the op computes the same bits for
 * the piece as it would for the whole, except where it needs elements that the piece lacks. Both
 * lists have one entry for each spatial axis of the tensor before the resize, followed by one for
 * each axis of the tensor after it. */
struct resize {
	struct ints size;
	int mode;                    /* enum resize_mode */
	bool align_corners;
	struct ints whole;           /* sizes of the whole tensor; empty: the tensor is the whole */
	struct ints at;              /* position of the piece's first element in the whole; empty: 0 */
};

/* The interpolation along one axis: the sizes of the whole before and after the resize, and the
 * range of the piece. */
struct resize_axis {
	const struct resize *at;
	int64_t in, out;
	int64_t from, to;                /* first index of the piece, before and after the resize */
	int64_t n;                       /* indices of the piece before the resize */
};

/* The sources of one result: n indices, beginning with `first`. */
struct resize_source {
	int64_t first, n;
	double w[2];                     /* weights of the indices if n is 1 or 2; otherwise all weights
	                                  * are 1 / n */
};

/* Spatial axis a of `axes` (axis 0 is the outermost), for a tensor of size `in` before and `out`
 * after the resize. */
struct resize_axis resize_axis_of(const struct resize *at, int axes, int a, int64_t in,
                                  int64_t out);
/* The sources of index o of the resized piece, as indices of the piece before the resize. An index
 * outside that piece is replaced by the nearest one inside. */
struct resize_source resize_source_of(const struct resize_axis *x, int64_t o);
static inline double resize_weight(const struct resize_source *s, int64_t i)
{
	return s->n > 2 ? 1 / (double)s->n : s->w[i];
}

/* The callback `reads` of resize. */
bool resize_reads(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                  int64_t *hi);
/* Whether n, a resize, has align_corners: then the distance between its samples differs between
 * sizes with the same factor. */
bool resize_aligned(const struct node *n);
/* Whether outputs that are `den` further along `axis` read the inputs that are `num` further, with
 * bit-equal weights, everywhere in the whole. num / den, in lowest terms, is the shift that
 * n.op->reads reports. False only for nearest-neighbour indices that are rounded in float32. */
bool resize_repeats(const struct graph *g, const struct node *n, int axis, int64_t num,
                    int64_t den);

#endif
