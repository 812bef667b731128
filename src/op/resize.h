/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attributes of resize and resize_grad, and what they mean along one axis. */
#ifndef DLX_OP_RESIZE_H
#define DLX_OP_RESIZE_H

#include "graph/op.h"

/* Where `whole` is set, the op computes of a piece what it computes there of the whole, to the last
 * bit, but where it reads places that the piece lacks. Both lists have an entry for each spatial
 * axis of the tensor before the resize, and then one for each of that after. */
struct resize {
	struct ints size;
	int mode;                    /* enum resize_mode */
	bool align_corners;
	struct ints whole;           /* sizes of the whole; none: it is the whole */
	struct ints at;              /* the whole's place of the piece's first; none: 0 */
};

/* One axis of the map: sizes of the whole before and after, and the piece's part of it. */
struct resize_axis {
	const struct resize *at;
	int64_t in, out;
	int64_t from, to;                /* where the piece begins, before and after */
	int64_t n;                       /* indices that it has before */
};

/* n indices from first on. */
struct resize_source {
	int64_t first, n;
	double w[2];                     /* of the indices where n is 1 or 2 */
};

/* Of spatial axis a of `axes`, outermost first, for a tensor of sizes in before and out after. */
struct resize_axis resize_axis_of(const struct resize *at, int axes, int a, int64_t in,
                                  int64_t out);
/* What index o of the piece after reads, in the piece before. What that lacks counts as the nearest
 * that it has. */
struct resize_source resize_source_of(const struct resize_axis *x, int64_t o);
static inline double resize_weight(const struct resize_source *s, int64_t i)
{
	return s->n > 2 ? 1 / (double)s->n : s->w[i];
}

/* The callback `reads` of resize. */
bool resize_reads(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                  int64_t *hi);
/* Whether n, a resize, maps corners onto each other: its steps then differ between sizes of one
 * factor. */
bool resize_aligned(const struct node *n);
/* Whether outputs `den` further along `axis` read the same inputs `num` further, with weights of
 * the same bits, all over the whole. num / den is in lowest terms what n.op->reads moves by. False
 * only where nearest indices are rounded in float32. */
bool resize_repeats(const struct graph *g, const struct node *n, int axis, int64_t num,
                    int64_t den);

#endif
