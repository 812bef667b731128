/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the time of a replayed graph goes, from what a profiler noted of each kernel and copy: one
 * row for each, with the medians over the replays. */
#ifndef DLX_BACKEND_REPLAY_H
#define DLX_BACKEND_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "graph/graph.h"

/* A kernel or copy of one replay, as it was noted. */
struct replay_span {
	uint64_t place;              /* which of the graph's: the same in all replays */
	uint32_t launch;             /* which replay */
	nid node;                    /* of the plan; NONE: of none that is known */
	const char *name;            /* as compilers mangle it; of a copy "copy", of a fill "fill" */
	uint64_t start, end;         /* ns */
};

struct replay_kernel {
	nid node;
	const char *name;            /* of a mangled function name the function's own */
	double start, seconds;       /* medians; start: since the first of the replay began */
};

struct replay {
	struct arena *arena;         /* NULL: nothing was replayed */
	struct replay_kernel *kernel;        /* in order of their start */
	int nkernel, replays;
	double span, busy;           /* medians in seconds: from the first to the end of the last; in
	                              * which anything ran */
};

/* Sums up n spans, in any order, which it sorts; keeps copies of their names. Released by
 * replay_release. */
void replay_sum(struct replay *out, struct replay_span *span, size_t n);
void replay_release(struct replay *r);           /* a zeroed one is fine */

#endif
