/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A profile of a replayed CUDA graph: one row for each kernel and copy, with the medians over the
 * replays of the times that a profiler recorded. */
#ifndef DLX_BACKEND_REPLAY_H
#define DLX_BACKEND_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "graph/graph.h"

/* One kernel or copy of one replay, as the profiler recorded it. */
struct replay_span {
	uint64_t place;              /* identifies the kernel or copy within the graph, the same in all
	                              * replays */
	uint32_t launch;             /* identifies the replay */
	nid node;                    /* the plan's node that it belongs to; NONE: unknown */
	const char *name;            /* as compilers mangle it; of a copy "copy", of a fill "fill" */
	uint64_t start, end;         /* ns */
};

struct replay_kernel {
	nid node;
	const char *name;            /* the function's name, demangled */
	double start, seconds;       /* medians in seconds; start: relative to the start of the replay's
	                              * first kernel */
};

struct replay {
	struct arena *arena;         /* NULL: nothing was replayed */
	struct replay_kernel *kernel;        /* rows, in the order of their start */
	int nkernel, replays;
	double span, busy;           /* medians in seconds: span: from the first start to the last end;
	                              * busy: time in which anything ran */
};

/* Sums up n spans, in any order, which it sorts; keeps copies of their names. Released by
 * replay_release. */
void replay_sum(struct replay *out, struct replay_span *span, size_t n);
void replay_release(struct replay *r);           /* a zeroed one is fine */

#endif
