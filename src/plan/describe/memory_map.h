/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The map of a step's arena: the offset of each tensor and workspace, and the nodes of the schedule
 * between which it is in use. */
#ifndef DLX_PLAN_MEMORY_MAP_H
#define DLX_PLAN_MEMORY_MAP_H

#include "base/buf.h"
#include "plan/plan.h"

/* The purpose of a place in the arena. */
enum memory_kind {
	MEMORY_FORWARD, MEMORY_BACKWARD, MEMORY_GRADIENT, MEMORY_UPDATE, MEMORY_WORKSPACE, MEMORY_KINDS
};
extern const char *const memory_kind_name[MEMORY_KINDS];

/* A tensor, or a node's workspace. */
struct memory_place {
	tid tensor;                  /* NONE: the place is the workspace of node `first` */
	enum memory_kind kind;
	nid first, last;             /* it is in use from this node to that one, both included */
	int64_t offset, end, bytes;  /* its bytes in the arena are [offset, end), of which it uses the
	                              * first `bytes` */
	tid root;                    /* the tensor that owns its buffer: itself, or the one that it is a
	                              * view of */
	int view;                    /* it is a view of the root's range [from, to) along this axis, or
	                              * NONE */
	int64_t from, to;
	tid over;                    /* the tensor whose place it reuses, which node `first` is the last
	                              * to use; or NONE */
};

struct memory_map {
	int n;
	struct memory_place *place;  /* sorted by offset, then by first node; a root before its views */
};

void memory_map_init(struct memory_map *m, const struct plan *p);
void memory_map_release(struct memory_map *m);

/* A table: the arena, then what is stored elsewhere. */
void memory_map_text(const struct plan *p, struct buf *out);
/* An object of JSON. */
void memory_map_json(const struct plan *p, struct buf *out);
/* An SVG: places as rectangles over the schedule, and the fullest node. */
void memory_map_svg(const struct plan *p, const char *network, struct buf *out);

#endif
