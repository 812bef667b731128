/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Views: a tensor may be in the buffer of another one, its root, as a range of the root's channels
 * or rows (tensor.view, view_axis, view_at). The root is channels-last and no view itself; all its
 * views are ranges along one axis, and have its other extents. A view of channels has the layout
 * layout_slice with the root's channels as the distance. A view of rows is dense, so that any
 * kernel accepts it; therefore the axes that are outside the rows in memory have one element.
 * Concatenating tensors that are views of the result, and slicing a view out of a tensor, moves
 * nothing; a sum may be where one of its operands is (kernel.sums_into). */
#ifndef DLX_GRAPH_VIEW_H
#define DLX_GRAPH_VIEW_H

#include "graph/op.h"

/* Where t is stored: channels or rows [from, to) of root's buffer; root is t itself if t is no
 * view. */
struct view {
	tid root;
	int axis;
	int64_t from, to;
};
struct view view_of(const struct graph *g, tid t);
/* Whether a tensor of this shape may have views along the axis. */
bool view_divides(const struct shape *s, int axis);
/* Makes t a view of root, beginning at `at` along the axis; if root is t itself, gives t a dense
 * channels-last buffer of its own instead. Existing views of t are not changed. */
void view_place(struct graph *g, tid t, tid root, int axis, int64_t at);
/* Bytes from the start of s's buffer, of elements of this type, to index `at` along the axis. */
int64_t view_bytes(const struct shape *s, enum dtype type, int axis, int64_t at);
/* Offset of t in bytes from the start of its root's buffer. */
int64_t view_offset(const struct graph *g, tid t);
/* Whether in[i] of an OP_CONCAT node (out[0] of an OP_SLICE node; i is 0) is a view at its position
 * in the whole, so that the kernel need not copy it. */
bool view_in_place(const struct graph *g, const struct node *n, int i);
/* Whether a kernel runs for n. False for view ops, and for a concat or slice whose pieces are all
 * in place. */
bool node_runs(const struct graph *g, const struct node *n);
/* E_BUG unless every view fits into its root, and no buffer that a node reads has been overwritten
 * through a view since. Part of graph_verify. */
int view_check(const struct graph *g);

#endif
