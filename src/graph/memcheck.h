/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier's view of a memory plan, derived from the order and the offsets alone (it shares no
 * code with memplan.c). */
#ifndef DLX_GRAPH_MEMCHECK_H
#define DLX_GRAPH_MEMCHECK_H

#include "graph/memplan.h"

/* E_BUG if two buffers that are alive at once overlap, one is misaligned or outside the arena, or
 * an output is on an input where the op does not allow it. ws: NULL, or the workspaces to check
 * as well. */
int memcheck(const struct graph *g, const struct memplan_workspace *ws);

#endif
