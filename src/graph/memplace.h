/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packs buffers with known lifetimes into one arena. The problem is to place rectangles in (time,
 * address) without overlap; this file knows nothing of graphs. */
#ifndef DLX_GRAPH_MEMPLACE_H
#define DLX_GRAPH_MEMPLACE_H

#include <stdint.h>

#define MEM_ALIGN 64

struct memitem {
	int start, end;              /* lifetime: from node `start` to node `end`, inclusive */
	int64_t size;                /* a multiple of MEM_ALIGN */
	int64_t offset;              /* the result: bytes into the arena, a multiple of MEM_ALIGN */
};

/* Fills the offsets so that items with overlapping lifetimes do not overlap in memory; returns the
 * size of the arena in bytes. Deterministic. lower_bound: the result of memplace_lower_bound; the
 * search stops once it is reached. */
int64_t memplace(struct memitem *item, int n, int64_t lower_bound);
/* The largest number of bytes alive at any one node, and the first node with that number. */
int64_t memplace_lower_bound(const struct memitem *item, int n, int nnode, int *peak_node);

#endif
