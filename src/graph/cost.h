/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The flops and the memory traffic of a whole graph, and a hash that identifies the graph. */
#ifndef DLX_GRAPH_COST_H
#define DLX_GRAPH_COST_H

#include "graph/op.h"

/* The cost of all nodes whose phase is in the mask `phases` (bit: 1 << phase). */
struct cost graph_cost(const struct graph *g, unsigned phases);
/* 100 * part / whole; 0 if whole is 0. */
double cost_percent(double part, double whole);
/* A hash of everything that determines the computation: nodes and their order, attributes, shapes,
 * dtypes, layouts. Ranks compare it to make sure that they run the same graph. */
uint64_t graph_fingerprint(const struct graph *g);

#endif
