/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recomputation of buffers that are dropped. A buffer is a tensor that owns memory, with all its
 * views. A buffer may be dropped in a gap between two uses, so that its memory is free meanwhile.
 * Before the next use, copies of the nodes that wrote it run again, and all later nodes read the
 * outputs of these copies. If inputs of those nodes have been dropped too, they are recomputed
 * first. Copies have the layouts and views of the originals, so that the same kernels give the same
 * bits. An op with a cheaper algorithm for the repetition declares it (`again` in graph/op.h: batch
 * norm reuses its statistics).
 *
 * recompute_nodes_apply changes the graph and recompute_nodes_undo restores it, so that recompute.c
 * can try several choices. */
#ifndef DLX_PASS_RECOMPUTE_NODES_H
#define DLX_PASS_RECOMPUTE_NODES_H

#include "graph/op.h"

struct recompute_nodes {
	struct graph *g;
	int nnode, ntensor;          /* counts of the original graph, whose ids index the arrays
	                              * below */
	tid *root;                   /* by tensor: id of its buffer; NONE: it has no memory in the
	                              * arena */
	int64_t *bytes;              /* by buffer: size in bytes */
	nid *made, *last;            /* by buffer: the last node that writes it, and the last that reads
	                              * or writes it */
	bool *droppable;             /* by buffer: all its writers belong to the forward part and can be
	                              * run again */
	bool *plain;                 /* by buffer: no convolution or dense layer writes it */
	nid *drop;                   /* by buffer: node after which it is dropped; NONE: kept. Set by
	                              * the caller */
	int *writer, *writer_first;  /* nodes that write buffer b, in order, begin at
	                              * writer[writer_first[b]] */
	/* The members below describe the graph after recompute_nodes_apply. */
	int nstep;
	nid *at;                     /* by node: the original node; of a copy, the original node before
	                              * which it runs */
	size_t *ws;                  /* by node: bytes of workspace */
	int ncopy;                   /* number of copies */
	struct cost cost;            /* arithmetic and memory traffic of the copies */
	struct recompute_copies *own;
};

/* ws: bytes of workspace, indexed by node, or NULL. g is borrowed; it must be in the order of
 * execution and have its layouts. */
struct recompute_nodes *recompute_nodes_new(struct graph *g, const size_t *ws);
void recompute_nodes_free(struct recompute_nodes *a); /* NULL is fine */
/* Drops the buffers as `drop` says. Returns NONE, or the id of a buffer for which this is
 * impossible; then the graph is unchanged. */
tid recompute_nodes_apply(struct recompute_nodes *a);
void recompute_nodes_undo(struct recompute_nodes *a);
/* As recompute_nodes_apply, but it cannot be undone. */
tid recompute_nodes_commit(struct recompute_nodes *a);
/* The price of dropping buffer b and recomputing it before node `before`: the cost of the repeated
 * nodes, as bytes of memory traffic (see recompute_nodes_weight). *counted: one of them is a
 * convolution or a dense layer. */
double recompute_nodes_price(const struct recompute_nodes *a, tid b, nid before, bool *counted);
/* Converts arithmetic and memory traffic into one number: an equivalent number of bytes. */
double recompute_nodes_weight(const struct cost *c);

#endif
