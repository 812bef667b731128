/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The invariants of a graph from each stage of planning on. */
#ifndef DLX_GRAPH_VERIFY_H
#define DLX_GRAPH_VERIFY_H

#include "graph/op.h"

/* How far a graph has come. */
enum stage {
	STAGE_BUILT,       /* shapes known, producers before users, attributes valid */
	STAGE_LAID_OUT,    /* every tensor has a layout, and every kernel gets layouts that it takes */
	STAGE_PLANNED      /* offsets: nothing alive at once overlaps, in-place is legal */
};

/* E_BUG with what is wrong (node, tensor, rule). */
int graph_verify(const struct graph *g, enum stage stage);

#endif
