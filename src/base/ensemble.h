/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics of realizations of a random field: an array (realizations, places). */
#ifndef DLX_BASE_ENSEMBLE_H
#define DLX_BASE_ENSEMBLE_H

#include <stdint.h>

/* A number for each place. */
struct ensemble {
	int64_t places, realizations;
	double *mean, *deviation;        /* the root of the mean square of what the mean leaves */
	double *low, *high;              /* the quantiles ENSEMBLE_LOW and ENSEMBLE_HIGH */
	double *sorted;                  /* (places, realizations), ascending */
};
#define ENSEMBLE_LOW 0.05
#define ENSEMBLE_HIGH 0.95

/* Of at least one realization; ensemble_release. */
void ensemble_init(struct ensemble *e, const double *v, int64_t realizations, int64_t places);
void ensemble_release(struct ensemble *e);       /* all 0 is fine */

/* The value below which a share q of n ascending values lies, with a straight line between two of
 * them (Hyndman and Fan's seventh definition, 1996). */
double ensemble_quantile(const double *sorted, int64_t n, double q);
/* The norm of v - reference over that of reference. */
double ensemble_relative_l2(const double *v, const double *reference, int64_t n);
/* The statistic of Kolmogorov and Smirnov of two samples, both ascending: the largest difference of
 * their empirical distribution functions. */
double ensemble_ks(const double *a, int64_t na, const double *b, int64_t nb);
/* The largest statistic over the places at which the values of the reference vary: by more than a
 * millionth of the largest deviation. 0 if they do not vary anywhere, NaN where a value there is
 * NaN. Both have the same places. */
double ensemble_worst_ks(const struct ensemble *e, const struct ensemble *reference);

#endif
