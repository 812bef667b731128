/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of group normalisation share: the sets of values that are normalised together, and
 * the kernels. */
#ifndef DLX_OP_NORM_GROUP_NORM_H
#define DLX_OP_NORM_GROUP_NORM_H

#include "op/norm/norm_sync.h"

struct group_norm {
	int64_t groups;
	bool by_point;
	double eps;
	int64_t group;               /* of the reducer of statistics: points are of several ranks, the
	                              * same samples on all; negative: all are here */
};

/* A channels-last tensor as samples of `rows` rows of c channels. A set is `width` neighbouring
 * channels in all rows of a sample, `across` sets side by side: width * across is c. Where each
 * point is normalised on its own, the points are the samples. */
struct norm_sets {
	int64_t samples, rows, c, across, width;
};

struct norm_sets norm_sets_of(const struct kplan *k);

/* Places of the node's tensors: forward  x [, gamma, beta] -> y, mean, rstd
 *                               gradient x, dy, mean, rstd [, gamma] -> dx, dgamma, dbeta */
enum { GROUP_NORM_GAMMA = 1, GROUP_NORM_BETA = 2 };
enum { GROUP_NORM_GRAD_GAMMA = 4 };

/* The sets' (2 doubles for each: means and sums of squares beyond them, or two sums) of all ranks'
 * points, from this rank's, of *m values a set; as norm_sync_moments and norm_sync_sums. Nothing
 * changes without a group. */
int group_norm_moments(const struct kplan *k, const struct kargs *a, double *v, double *m);
int group_norm_sums(const struct kplan *k, const struct kargs *a, double *v, double *m);

/* CPU kernels: native layouts, float32. */
int group_norm_plan(struct kplan *k);
int group_norm_grad_plan(struct kplan *k);
int group_norm_cpu(const struct kplan *k, const struct kargs *a);
int group_norm_grad_cpu(const struct kplan *k, const struct kargs *a);

#endif
