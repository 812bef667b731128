/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory against time: which outputs of the forward part are recomputed in the backward part
 * instead of being kept, so that a step fits in less memory (Chen et al., 2016, and greedily by
 * bytes freed for each byte moved again). Results do not change by a bit: copies read the same
 * values, draw the same random numbers, and leave states alone. */
#ifndef DLX_PASS_RECOMPUTE_H
#define DLX_PASS_RECOMPUTE_H

#include "graph/op.h"

struct recompute;

/* One choice of buffers to recompute. */
struct recompute_choice {
	int64_t bytes;               /* alive at once at most, workspace included */
	nid node;                    /* where; of the order without recomputation */
	int buffers, copies;         /* not kept; nodes run again for them */
	struct cost cost;            /* of those */
	bool fits;                   /* bytes are no more than were asked for */
};

/* g is in the order of execution and laid out; ws: workspace in bytes by node, or NULL. Borrows
 * both. */
struct recompute *recompute_new(struct graph *g, const size_t *ws);
void recompute_free(struct recompute *r);            /* NULL is fine */
/* Looks for the cheapest choice with no more than `limit` bytes; if there is none, the smallest
 * found. cheap: neither convolutions nor dense layers are run again. The graph stays as it is. */
void recompute_choose(struct recompute *r, int64_t limit, bool cheap, struct recompute_choice *out);
/* Bytes of the arena with the last choice: what is alive at most, and what placing it loses. */
int recompute_arena(struct recompute *r, int64_t *bytes);
/* Applies the last choice to the graph. r cannot be used afterwards. */
void recompute_commit(struct recompute *r);

#endif
