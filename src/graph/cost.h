/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over the nodes of a graph: their arithmetic and traffic, and a hash of what they do. */
#ifndef DLX_GRAPH_COST_H
#define DLX_GRAPH_COST_H

#include "graph/op.h"

/* Sums over nodes of a phase mask (bit = 1 << phase). */
struct cost graph_cost(const struct graph *g, unsigned phases);
/* part as a percentage of whole, two sums of one kind; 0 if whole is 0. */
double cost_percent(double part, double whole);
/* A hash of everything that decides what the ranks will do: nodes, attributes, shapes, dtypes,
 * layouts, order. */
uint64_t graph_fingerprint(const struct graph *g);

#endif
