/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recomputation (checkpointing) trades time for memory: it chooses outputs of the forward part that
 * are not kept but recomputed in the backward part, so that a step fits in less memory (Chen et
 * al., 2016, and a greedy choice by bytes freed per byte of repeated memory traffic). Results are
 * bitwise the same: the repeated nodes read the same values, draw the same random numbers, and do
 * not change states. */
#ifndef DLX_PASS_RECOMPUTE_H
#define DLX_PASS_RECOMPUTE_H

#include "graph/op.h"

struct recompute;

/* One choice of buffers to recompute. */
struct recompute_choice {
	int64_t bytes;               /* peak of live bytes, workspace included */
	nid node;                    /* node at which the peak is reached, in the order without
	                              * recomputation */
	int buffers, copies;         /* number of buffers that are dropped, and of nodes that run again
	                              * to recompute them */
	struct cost cost;            /* arithmetic and memory traffic of the repeated nodes */
	bool fits;                   /* `bytes` is within the limit */
};

/* g must be in the order of execution and have its layouts. ws: workspace in bytes, indexed by
 * node, or NULL. Both are borrowed. */
struct recompute *recompute_new(struct graph *g, const size_t *ws);
void recompute_free(struct recompute *r);            /* NULL is fine */
/* Searches for the cheapest choice whose peak is at most `limit` bytes; if none is found, returns
 * the one with the lowest peak. cheap: neither convolutions nor dense layers may be repeated. The
 * graph stays as it is. */
void recompute_choose(struct recompute *r, int64_t limit, bool cheap, struct recompute_choice *out);
/* Size in bytes of the arena with the last choice: the peak of live bytes and the loss by
 * fragmentation. */
int recompute_arena(struct recompute *r, int64_t *bytes);
/* Applies the last choice to the graph. r cannot be used afterwards. */
void recompute_commit(struct recompute *r);

#endif
