/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Views: a tensor may be in the buffer of another one, its root, as a range of
 * the root's channels (tensor.view, tensor.view_at). The root is channels-last,
 * the view has the same pixels, its layout is layout_slice with the root's
 * channels as the distance. A root is no view itself. Concatenating tensors that are
 * views of the result, and slicing a view out of a tensor, moves nothing; a sum may be where one of
 * its operands is (kernel.sums_into). */
#ifndef DLX_GRAPH_VIEW_H
#define DLX_GRAPH_VIEW_H

#include "graph/op.h"

/* The place of t: channels [from, to) of root's buffer; root is t itself if t is no view. */
struct view {
	tid root;
	int64_t from, to;
};
struct view view_of(const struct graph *g, tid t);
/* Makes t the channels of root's buffer from `at` on, or, where root is t itself, gives it a dense
 * channels-last buffer of its own. Views of t do not follow. */
void view_place(struct graph *g, tid t, tid root, int64_t at);
/* Bytes from the start of the root's buffer. */
int64_t view_offset(const struct graph *g, tid t);
/* For an OP_CONCAT (OP_SLICE): whether in[i] (out[0], i is 0) is already in its place within the
 * whole, so that there is nothing to copy. */
bool view_in_place(const struct graph *g, const struct node *n, int i);
/* Whether n has a kernel to run: not if it is a view, and not if all pieces are in place. */
bool node_runs(const struct graph *g, const struct node *n);
/* E_BUG unless every view fits its root, and every node finds in the buffers what their tensors
 * are said to hold. Part of graph_verify. */
int view_check(const struct graph *g);

#endif
