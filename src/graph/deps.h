/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The dependence edges of a graph: those of data and those of storage (every reader of a state runs
 * before the node that overwrites it). Shared by sorting, scheduling and verification. */
#ifndef DLX_GRAPH_DEPS_H
#define DLX_GRAPH_DEPS_H

#include "graph/op.h"

/* Successors of node i: succ[first[i]] .. succ[first[i + 1] - 1], an edge may occur twice. */
struct deps {
	int n;
	int *first, *succ;
	int *npred;                  /* edges into node i */
};
void deps_build(struct deps *d, const struct graph *g);
void deps_release(struct deps *d);

/* The tensor whose value t shows: t itself, or what a view looks at. */
tid version_of(const struct graph *g, tid t);
/* Whether output i of n overwrites the storage of a tensor that was there before. */
bool overwrites(const struct graph *g, const struct node *n, int i);

/* By root tensor (graph_root): the last node that touches it or what shares its buffer; nnode if
 * the host reads it after the step, NONE if no node does. The caller frees it with mem_free. */
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
