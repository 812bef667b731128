/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The dependence edges of a graph: data edges from producer to reader, and storage edges (every
 * reader of a state runs before the node that overwrites it). Used by sorting, scheduling and
 * verification. */
#ifndef DLX_GRAPH_DEPS_H
#define DLX_GRAPH_DEPS_H

#include "graph/op.h"

/* Successors of node i: succ[first[i]] .. succ[first[i + 1] - 1], an edge may occur twice. */
struct deps {
	int n;
	int *first, *succ;
	int *npred;                  /* [n]: number of edges into node i */
};
void deps_build(struct deps *d, const struct graph *g);
void deps_release(struct deps *d);

/* The tensor whose value t has: t itself, or, if t is the output of a view op, the tensor
 * viewed. */
tid version_of(const struct graph *g, tid t);
/* Whether output i of n is written in place, over an existing tensor (an update of a state). */
bool overwrites(const struct graph *g, const struct node *n, int i);

/* For each root tensor (graph_root), indexed by tensor id: the last node that reads or writes its
 * buffer, also through aliases and views; nnode if the host reads the tensor after the step, NONE
 * if no node uses it. The caller frees the array with mem_free. */
nid *graph_last_use(const struct graph *g);

/* A binary heap of (key, id), smallest first; ties by id. */
struct heap {
	int64_t *key;
	int *id;
	int n;
};
void heap_init(struct heap *h, int cap);
void heap_release(struct heap *h);
void heap_push(struct heap *h, int64_t key, int id);
int heap_pop(struct heap *h);

#endif
