/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph of versions as text: a column for each line that is open, as `git log --graph` has it.
 *
 *   *     a version that comes from the one three lines below
 *   | *   another one
 *   |/
 *   *     which both come from
 *   :     versions between the two have been removed
 *   *
 */
#ifndef DLX_DATA_TOOLS_CKPT_GRAPH_H
#define DLX_DATA_TOOLS_CKPT_GRAPH_H

#include <stdbool.h>

#include "base/buf.h"

struct graph_edge {
	int to;                        /* the number of a node; -1: the line ends */
	bool gone;                     /* what it leads through is not there */
};

struct version_graph;
struct version_graph *version_graph_new(void);
void version_graph_free(struct version_graph *g);
/* Nodes come one by one, each before those that its edges lead to. Appends what stands left of the
 * node's text. */
void version_graph_node(struct version_graph *g, int node, char mark, struct buf *out);
/* Then appends the lines between its text and the next node's, each with its newline. */
void version_graph_edges(struct version_graph *g, const struct graph_edge *edge, int n,
                         struct buf *out);

#endif
