/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The hosts of a run and the ranks on each. All-reduces follow this grid: ranks of one host sum in
 * shared memory. Between hosts a bucket is divided into shards, and the k-th ranks of all hosts
 * all-reduce the k-th shard by MPI. */
#ifndef DLX_PLAN_RANK_GRID_H
#define DLX_PLAN_RANK_GRID_H

#include "base/arena.h"
#include "base/buf.h"
#include "comm/comm.h"

struct rank_grid {
	int hosts, ranks;            /* number of hosts; of ranks on all hosts together */
	bool there;                  /* true: these ranks are running; false: they are only planned for,
	                              * and hosts have no names */
	struct rank_grid_host {
		const char *name;        /* "" if the host is only planned for */
		int n, *rank;            /* number of its ranks; their ranks, ascending */
	} *host;
	int most, shards;            /* the largest number of ranks on one host; shards of a bucket (0
	                              * with one host) */
};

/* Sets *g to the grid of the running ranks, with its lists in arena a. Collective. */
void rank_grid_learn(struct rank_grid *g, struct arena *a, struct comm *c);
/* Sets *g to a grid for planning only: `ranks` ranks, spread as evenly as possible over `hosts`
 * hosts. hosts <= ranks. */
void rank_grid_assume(struct rank_grid *g, struct arena *a, int hosts, int ranks);

/* The number of the host of a rank. */
int rank_grid_host_of(const struct rank_grid *g, int rank);

/* The number of MPI messages that the first rank of a host sends for one bucket. converted: dlx
 * performs the additions instead of MPI, because values have 16 bits or are added in a fixed
 * order. */
int rank_grid_messages(const struct rank_grid *g, bool converted);

/* "2 hosts x 4 ranks: c1 0-3, c2 4-7", without the names "2 hosts x 4 ranks" */
void rank_grid_text(const struct rank_grid *g, struct buf *out);
/* {"hosts": 2, "ranks": 8, "shards": 4, "grid": [{"host": "c1", "ranks": [0, 1, 2, 3]}, ...]};
 * without names no "host" */
void rank_grid_json(const struct rank_grid *g, struct buf *out);

#endif
