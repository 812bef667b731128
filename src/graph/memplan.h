/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory planner: gives each tensor of a scheduled graph its offset in the step's arena. */
#ifndef DLX_GRAPH_MEMPLAN_H
#define DLX_GRAPH_MEMPLAN_H

#include "graph/op.h"

/* Bytes of t's buffer in its layout, padding included. */
int64_t tensor_buffer_bytes(const struct graph *g, tid t);
/* Device bytes for t, a tensor outside the arena: two buffers if t is an input that is prefetched
 * into a second buffer, else one. */
int64_t tensor_kept_bytes(const struct graph *g, tid t);
/* Bytes of the host's staging buffer for t, an input of a device with its own memory: the value in
 * the device's layout and type, ready to copy. 0: the value is copied from where it is. */
int64_t tensor_staged_bytes(const struct graph *g, tid t);

/* The workspace of each node, as requested by its kernel's plan(). */
struct memplan_workspace {
	const size_t *bytes;     /* by node id; NULL: none */
	int64_t *offset;         /* the result: bytes into the arena, by node id */
};
/* Chooses in-place outputs and all offsets. ws may be NULL. */
int memplan(struct graph *g, const struct memplan_workspace *ws);
/* n bytes rounded up to the arena's alignment. */
int64_t memplan_aligned(const struct graph *g, int64_t n);
/* Fills live[nnode] with the bytes alive at each node, by memplan's rules for lifetimes; no offset
 * is assigned. ws: workspace bytes by node id, or NULL. */
void memplan_profile(struct graph *g, const size_t *ws, int64_t *live);

#endif
