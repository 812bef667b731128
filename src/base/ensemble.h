/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics of realizations of a random field: an array (realizations, places). */
#ifndef DLX_BASE_ENSEMBLE_H
#define DLX_BASE_ENSEMBLE_H

#include <stdint.h>

/* Statistics at each place of the field, over realizations. */
struct ensemble {
	int64_t places, realizations;
	double *mean, *deviation;        /* standard deviation (divided by the number of
	                                  * realizations) */
	double *low, *high;              /* the quantiles ENSEMBLE_LOW and ENSEMBLE_HIGH, linear between
	                                  * two values (Hyndman and Fan's seventh definition, 1996) */
	double *sorted;                  /* (places, realizations), ascending */
};
#define ENSEMBLE_LOW 0.05
#define ENSEMBLE_HIGH 0.95

/* Computes the statistics of v (realizations, places), of at least one realization. Free with
 * ensemble_release. */
void ensemble_init(struct ensemble *e, const double *v, int64_t realizations, int64_t places);
void ensemble_release(struct ensemble *e);       /* all 0 is fine */

/* The relative L2 error |v - reference| / |reference|. */
double ensemble_relative_l2(const double *v, const double *reference, int64_t n);
/* The Kolmogorov-Smirnov statistic of two ascending samples: the largest difference of their
 * empirical distribution functions. */
double ensemble_ks(const double *a, int64_t na, const double *b, int64_t nb);
/* The largest Kolmogorov-Smirnov statistic over all places whose deviation in the reference is more
 * than a millionth of the largest one. 0 if there is no such place; NaN if a value at one is NaN.
 * Both ensembles must have the same number of places. */
double ensemble_worst_ks(const struct ensemble *e, const struct ensemble *reference);

#endif
