/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws a graph of versions as text, like `git log --graph`: each open line of descent has a
 * column.
 *
 *   *     a version that comes from the one three lines below
 *   | *   another one
 *   |/
 *   *     which both come from
 *   :     versions between the two have been removed
 *   *
 * */
#ifndef DLX_DATA_TOOLS_CKPT_GRAPH_H
#define DLX_DATA_TOOLS_CKPT_GRAPH_H

#include <stdbool.h>

#include "base/buf.h"

struct graph_edge {
	int to;                        /* number of the parent node; -1: none, the line ends */
	bool gone;                     /* versions between the two nodes have been removed */
};

struct version_graph;
struct version_graph *version_graph_new(void);
void version_graph_free(struct version_graph *g);
/* Appends the part of the graph to the left of a node's text. Call it for each node, children
 * before parents. */
void version_graph_node(struct version_graph *g, int node, char mark, struct buf *out);
/* Call it next: appends the lines of the graph between the node's text and the next node's, each
 * with a newline. */
void version_graph_edges(struct version_graph *g, const struct graph_edge *edge, int n,
                         struct buf *out);

#endif
