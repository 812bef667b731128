/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs that differ in their random seed alone are samples of one result: a mean and a deviation. */
#ifndef DLX_DATA_TOOLS_SEEDS_H
#define DLX_DATA_TOOLS_SEEDS_H

#include "data-tools/report/config_keys.h"
#include "data-tools/report/runs.h"

struct seeds {
	int n;
	int *run;                    /* indices of runs, ascending; at least one */
};

/* One group a run, or with `pool` one for the runs that are alike but for run.seed, which differs,
 * in the order of their first runs. key: of config_keys. Returns how many there are. */
int seeds_find(struct arena *a, const struct run *runs, int n, const struct config_key *key,
               int nkey, bool pool, struct seeds **out);

struct seeds_mean {
	int n;                       /* values that are finite; 0: the rest is NaN */
	double mean, deviation;      /* of the sample: by n - 1; of one value 0 */
};
struct seeds_mean seeds_mean(const double *v, int n);

/* The mean of a series over the steps that all of the group's runs tell; with less than two runs
 * that have it, that of one, without a band. */
struct seeds_curve {
	int n, runs;                 /* points; runs that have the series */
	double *step, *seconds, *samples, *value;
	double *low, *high;          /* mean -+ deviation; NULL: no band */
};
void seeds_curve(struct seeds_curve *out, struct arena *a, const struct run *runs,
                 const struct seeds *g, const char *series);

#endif
