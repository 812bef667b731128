/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The map of a step's arena: what is where, from which node of the schedule to which. */
#ifndef DLX_PLAN_MEMORY_MAP_H
#define DLX_PLAN_MEMORY_MAP_H

#include "base/buf.h"
#include "plan/plan.h"

/* What something in the arena is there for. */
enum memory_kind {
	MEMORY_FORWARD, MEMORY_BACKWARD, MEMORY_GRADIENT, MEMORY_UPDATE, MEMORY_WORKSPACE, MEMORY_KINDS
};
extern const char *const memory_kind_name[MEMORY_KINDS];

/* A tensor, or a node's workspace. */
struct memory_place {
	tid tensor;                  /* NONE: the place is the workspace of node `first` */
	enum memory_kind kind;
	nid first, last;             /* it is in use from this node to that one, both included */
	int64_t offset, end, bytes;  /* the arena gives it [offset, end), of
	                              * which it fills this many bytes */
	tid root;                    /* whose buffer it is in: its own, or what it is a view of */
	bool view;                   /* channels [from, to) of the root's */
	int64_t from, to;
	tid over;                    /* takes over the place of this tensor,
	                              * last used by `first`; or NONE */
};

struct memory_map {
	int n;
	struct memory_place *place;  /* by offset, then by first node; a
	                              * root before what is in it */
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
