/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory planner: the place of each tensor of a scheduled graph in the step's one arena. */
#ifndef DLX_GRAPH_MEMPLAN_H
#define DLX_GRAPH_MEMPLAN_H

#include "graph/op.h"

/* Bytes of t's buffer: what its layout holds, padding included. */
int64_t tensor_buffer_bytes(const struct graph *g, tid t);
/* Bytes of all that the device has for t, which is in no arena: two buffers of an input whose next
 * value travels to a place of its own, else one. */
int64_t tensor_kept_bytes(const struct graph *g, tid t);
/* Bytes of the host's copy of t, an input of a device with memory of its own, from where it travels
 * as the device has it; 0: it travels from where it is. */
int64_t tensor_staged_bytes(const struct graph *g, tid t);

/* Workspace of each node, as booked when its kernel was planned. */
struct memplan_workspace {
	const size_t *bytes;     /* by node id; NULL: none */
	int64_t *offset;         /* filled: bytes into the arena, by node id */
};
/* In-place and offsets; ws may be NULL. */
int memplan(struct graph *g, const struct memplan_workspace *ws);
/* What the arena gives to a buffer of n bytes. */
int64_t memplan_aligned(const struct graph *g, int64_t n);
/* Bytes that are alive at each node (live[nnode]), as memplan would have it; nothing is placed.
 * ws: bytes by node id, or NULL. */
void memplan_profile(struct graph *g, const size_t *ws, int64_t *live);

#endif
