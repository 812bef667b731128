/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints a graph as text or as a Graphviz drawing, for debugging of passes and planners. */
#ifndef DLX_GRAPH_DUMP_H
#define DLX_GRAPH_DUMP_H

#include "graph/op.h"

/* One line for each node: id, op, attributes that differ from the default, inputs and outputs with
 * shape, dtype, layout and offset, and the line of the config. */
void graph_dump_text(const struct graph *g, struct buf *out);
void graph_dump_dot(const struct graph *g, struct buf *out);

#endif
