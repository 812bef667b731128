/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recomputation of buffers instead of keeping them. A buffer is a tensor with a place of its own
 * and all its views. Dropping it at a gap between two uses ends its life there; before the next use
 * copies of the nodes that wrote it run again, and all later nodes read the copies' outputs. Inputs
 * of those nodes that are gone are recomputed too. Copies have the layouts and views of the
 * originals, so that the same kernels give the same bits; an op with a cheaper way says so (`again`
 * in graph/op.h: batch norm keeps its statistics). recompute_nodes_apply changes the graph,
 * recompute_nodes_undo restores it, so that choices can be tried; recompute.c chooses. */
#ifndef DLX_PASS_RECOMPUTE_NODES_H
#define DLX_PASS_RECOMPUTE_NODES_H

#include "graph/op.h"

struct recompute_nodes {
	struct graph *g;
	int nnode, ntensor;          /* of the graph as it was; indices below are of that one */
	tid *root;                   /* by tensor: its buffer, NONE where it has none in the arena */
	int64_t *bytes;              /* by buffer */
	nid *made, *last;            /* by buffer: the last node that writes, or touches, it */
	bool *droppable;             /* by buffer: its writers are of the forward
	                              * part and can be run again */
	bool *plain;                 /* by buffer: no convolution or dense layer writes it */
	nid *drop;                   /* by buffer: dropped after this node; NONE: kept. The caller's */
	int *writer, *writer_first;  /* writer[writer_first[b]] ..: nodes
	                              * that write buffer b, in order */
	/* The graph as changed by recompute_nodes_apply: */
	int nstep;
	nid *at;                     /* by node: the node that it is, or before which it was put */
	size_t *ws;                  /* by node: workspace */
	int ncopy;                   /* nodes put in */
	struct cost cost;            /* of those */
	struct recompute_copies *own;
};

/* ws: bytes by node, or NULL. Borrows g, which is in the order of execution and has its layouts. */
struct recompute_nodes *recompute_nodes_new(struct graph *g, const size_t *ws);
void recompute_nodes_free(struct recompute_nodes *a); /* NULL is fine */
/* Returns NONE, or a buffer that cannot be dropped as asked; then the graph is unchanged. */
tid recompute_nodes_apply(struct recompute_nodes *a);
void recompute_nodes_undo(struct recompute_nodes *a);
/* The same, for good. */
tid recompute_nodes_commit(struct recompute_nodes *a);
/* The price of dropping buffer b after node `after`: the time of the recomputed nodes, in bytes
 * moved. *counted: one of them is a convolution or a dense layer. */
double recompute_nodes_price(const struct recompute_nodes *a, tid b, nid before, bool *counted);
/* A node's arithmetic and traffic as one figure: bytes. */
double recompute_nodes_weight(const struct cost *c);

#endif
