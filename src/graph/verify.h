/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks the invariants of a graph, which become stricter with each stage of planning. */
#ifndef DLX_GRAPH_VERIFY_H
#define DLX_GRAPH_VERIFY_H

#include "graph/op.h"

/* The stage of planning that a graph has reached. */
enum stage {
	STAGE_BUILT,       /* shapes are known, producers precede users, attributes are valid */
	STAGE_LAID_OUT,    /* every tensor has a layout, and every kernel accepts those of its
	                    * operands */
	STAGE_PLANNED      /* offsets are assigned: buffers with overlapping lifetimes are disjoint,
	                    * in-place outputs are legal */
};

/* 0, or E_BUG with a message that names the node, the tensor and the rule. */
int graph_verify(const struct graph *g, enum stage stage);

#endif
