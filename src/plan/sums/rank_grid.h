/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The places of a run's ranks: a grid of hosts by the ranks of each. All-reduces follow the grid:
 * in shared memory within a host; between hosts in shards, the k-th of which the k-th ranks of all
 * hosts all-reduce by MPI. */
#ifndef DLX_PLAN_RANK_GRID_H
#define DLX_PLAN_RANK_GRID_H

#include "base/arena.h"
#include "base/buf.h"
#include "comm/comm.h"

struct rank_grid {
	int hosts, ranks;            /* ranks: of all hosts together */
	bool there;                  /* false: only planned for, and hosts have no names */
	struct rank_grid_host {
		const char *name;        /* "" where it is not there */
		int n, *rank;            /* ascending */
	} *host;
	int most, shards;            /* most ranks that a host has; parts of a bucket between hosts: 0
	                              * with one host */
};

/* The grid of the ranks of this run. Collective; memory is a's. */
void rank_grid_learn(struct rank_grid *g, struct arena *a, struct comm *c);
/* The grid of ranks that are only planned for, as even as possible; hosts <= ranks. */
void rank_grid_assume(struct rank_grid *g, struct arena *a, int hosts, int ranks);

/* The number of messages that the first rank of a host gives to MPI for one bucket. converted:
 * dlx itself adds, not MPI, because values have 16 bits or are added in a fixed order. */
int rank_grid_messages(const struct rank_grid *g, bool converted);

/* "2 hosts x 4 ranks: c1 0-3, c2 4-7", without the names "2 hosts x 4 ranks" */
void rank_grid_text(const struct rank_grid *g, struct buf *out);
/* {"hosts": 2, "ranks": 8, "shards": 4, "grid": [{"host": "c1", "ranks": [0, 1, 2, 3]}, ...]};
 * without names no "host" */
void rank_grid_json(const struct rank_grid *g, struct buf *out);

#endif
