/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Groups runs that differ only in their random seed. They are samples of one result, with a mean
 * and a standard deviation. */
#ifndef DLX_DATA_TOOLS_SEEDS_H
#define DLX_DATA_TOOLS_SEEDS_H

#include "data-tools/report/config_keys.h"
#include "data-tools/report/runs.h"

struct seeds {
	int n;
	int *run;                    /* indices of runs, ascending; at least one */
};

/* Makes one group per run or, with `pool`, one group for runs whose configs differ only in
 * run.seed, ordered by their first runs. key: the result of config_keys. Returns the number of
 * groups. */
int seeds_find(struct arena *a, const struct run *runs, int n, const struct config_key *key,
               int nkey, bool pool, struct seeds **out);

struct seeds_mean {
	int n;                       /* number of finite values; 0: the other members are NaN */
	double mean, deviation;      /* mean, and sample standard deviation (divided by n - 1; 0 for one
	                              * value) */
};
struct seeds_mean seeds_mean(const double *v, int n);

/* The mean of a series over the runs of a group, at the steps that all runs report. If only one run
 * has the series, its values without a band. */
struct seeds_curve {
	int n, runs;                 /* number of points; number of runs that have the series */
	double *step, *seconds, *samples, *value;
	double *low, *high;          /* mean minus and plus the standard deviation; NULL: no band */
};
void seeds_curve(struct seeds_curve *out, struct arena *a, const struct run *runs,
                 const struct seeds *g, const char *series);

#endif
