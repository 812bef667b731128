/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulation of one number of ranks: a plan is made for them, as by dlx-train --plan --ranks,
 * and its predicted step is the row. */
#ifndef DLX_CLI_SIM_ROW_H
#define DLX_CLI_SIM_ROW_H

#include "base/option.h"
#include "pass/cut.h"
#include "plan/time/cluster.h"
#include "plan/time/op_times.h"

/* What all rows are simulated from. */
struct sim_given {
	const char *config, *cluster, *device, *gpu;     /* as options of dlx-train */
	struct texts set;
	int64_t samples;             /* of an epoch; 0: those of the data, if it is there */
	const double *noise;         /* replaces the cluster's; NULL: it does not */
	const struct op_times *profile;      /* times of nodes by --times; NULL: see kept */
	/* The times of nodes by trials, for `ranks` ranks on a host and samples cut by `grid`; ranks 0:
	 * not taken yet. A host's processors are shared, so other numbers of ranks have other times. */
	struct sim_kept {
		int ranks;
		struct cut_grid grid;
		struct op_times times;
	} kept;
	struct arena *arena;
};

struct sim_row {
	int64_t ranks, hosts;
	int parts;                           /* ranks that share each sample; 1: it is whole */
	double step, exposed, slowest;       /* seconds, as in struct step_time */
	double computing;                    /* seconds of the step without waiting */
	double efficiency, low, high;        /* computing / step; its 5th and 95th percentile */
	int64_t batch, micro_batch;          /* samples of a step; train.batch_size */
	double samples, flops;               /* a second, of all ranks */
	double bytes, link;                  /* gradients a step; seconds that their sums take alone */
	int buckets, lag;
	const char *grouping, *source;       /* parallel.grouping; where times of nodes are from */
	double noise;                        /* standard deviation, as a share */
	int64_t memory;                      /* bytes that a rank takes on this machine's kernels; of
	                                      * another device about */
	double start, staging;               /* seconds; NaN: not known */
	int64_t steps;                       /* to the end of the run; 0: not known */
	double hours, host_hours;            /* of the whole run, with start and staging where these are
	                                      * known; NaN: not known */
};

/* set: a further KEY=VALUE, or NULL. Strings are in g->arena. */
int sim_row(struct sim_row *out, struct sim_given *g, int64_t ranks, const char *set);

#endif
