/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packing of buffers whose times of life are known into one arena. No graph here: the problem is
 * rectangles in (time, address), and so are its tests. */
#ifndef DLX_GRAPH_MEMPLACE_H
#define DLX_GRAPH_MEMPLACE_H

#include <stdint.h>

#define MEM_ALIGN 64

struct memitem {
	int start, end;              /* alive from node start to node end, both included */
	int64_t size;                /* a multiple of MEM_ALIGN */
	int64_t offset;              /* result, a multiple of MEM_ALIGN */
};

/* Fills the offsets so that no two items alive at once overlap, and returns the bytes needed.
 * Deterministic. lower_bound: of memplace_lower_bound, where the search may stop. */
int64_t memplace(struct memitem *item, int n, int64_t lower_bound);
/* Most bytes alive at one node, and the first node where it is so. */
int64_t memplace_lower_bound(const struct memitem *item, int n, int nnode, int *peak_node);

#endif
