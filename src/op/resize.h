/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attributes of resize and resize_grad. */
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

/* Whether n, a resize, maps corners onto each other: its steps then differ between sizes of one
 * factor. */
bool resize_aligned(const struct node *n);
/* Whether outputs `den` further along `axis` read the same inputs `num` further, with weights of the
 * same bits, all over the whole. num / den is in lowest terms what n.op->reads moves by. False only
 * where nearest indices are rounded in float32. */
bool resize_repeats(const struct graph *g, const struct node *n, int axis, int64_t num,
                    int64_t den);

#endif
