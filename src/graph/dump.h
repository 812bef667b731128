/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph as text and as a drawing: the debugger of everything that plans. */
#ifndef DLX_GRAPH_DUMP_H
#define DLX_GRAPH_DUMP_H

#include "graph/op.h"

/* One line a node: id, op, attributes that differ from the default, inputs and outputs with shape,
 * dtype, layout, offset, place. */
void graph_dump_text(const struct graph *g, struct buf *out);
void graph_dump_dot(const struct graph *g, struct buf *out);

#endif
