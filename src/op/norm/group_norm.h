/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Declarations shared by the files of group normalisation: the sets of values that are normalised
 * together, and the kernels. */
#ifndef DLX_OP_NORM_GROUP_NORM_H
#define DLX_OP_NORM_GROUP_NORM_H

#include "op/norm/norm_sync.h"

struct group_norm {
	int64_t groups;
	bool by_point;
	double eps;
	int64_t group;               /* index in the reducer of statistics if the points of each sample
	                              * are divided among ranks; negative: this rank has all points */
};

/* A channels-last tensor as samples of `rows` rows of c channels. A set of values that are
 * normalised together is `width` adjacent channels of all rows of a sample; a sample has `across`
 * sets, and width * across is c. If each point is normalised separately, the points are the
 * samples. */
struct norm_sets {
	int64_t samples, rows, c, across, width;
};

struct norm_sets norm_sets_of(const struct kplan *k);

/* Places of the node's tensors: forward  x [, gamma, beta] -> y, mean, rstd
 *                               gradient x, dy, mean, rstd [, gamma] -> dx, dgamma, dbeta */
enum { GROUP_NORM_GAMMA = 1, GROUP_NORM_BETA = 2 };
enum { GROUP_NORM_GRAD_GAMMA = 4 };

/* Combine the statistics of all ranks. v: 2 doubles for each set, for moments the mean and the sum
 * of squared deviations from it, for sums two sums. *m: values in a set on this rank, then on all
 * ranks. See norm_sync_moments and norm_sync_sums. Without a reducer group both do nothing. */
int group_norm_moments(const struct kplan *k, const struct kargs *a, double *v, double *m);
int group_norm_sums(const struct kplan *k, const struct kargs *a, double *v, double *m);

/* CPU kernels, for native layouts and float32. */
int group_norm_plan(struct kplan *k);
int group_norm_grad_plan(struct kplan *k);
int group_norm_cpu(const struct kplan *k, const struct kargs *a);
int group_norm_grad_cpu(const struct kplan *k, const struct kargs *a);

#endif
