/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The slowest of many ranks. The time of a step's kernels differs between ranks by a normal
 * distribution whose standard deviation is a share of that time; a step takes as long as its
 * slowest rank. */
#ifndef DLX_PLAN_RANK_NOISE_H
#define DLX_PLAN_RANK_NOISE_H

/* The expected largest of n draws of a standard normal distribution; 0 for n = 1. */
double rank_noise_largest(double n);
/* The value below which the largest of n draws is with probability p (0 < p < 1). */
double rank_noise_quantile(double n, double p);

#endif
