/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier's view of a memory plan, derived from the order and the offsets alone (it shares no
 * code with memplan.c). */
#ifndef DLX_GRAPH_MEMCHECK_H
#define DLX_GRAPH_MEMCHECK_H

#include "graph/memplan.h"

/* E_BUG if two buffers with overlapping lifetimes overlap in memory, a buffer is misaligned or
 * outside the arena, or an output shares an input's buffer although the op does not allow it. ws:
 * the workspaces, checked in the same manner; NULL: none. */
int memcheck(const struct graph *g, const struct memplan_workspace *ws);

#endif
