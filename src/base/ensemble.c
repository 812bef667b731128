/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/ensemble.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double *numbers(int64_t n)
{
	return mem_calloc((size_t)n + 1, sizeof(double));
}

/* In two passes: the squares of what is left when the mean is taken away. */
static void moments(const double *v, int64_t n, double *mean, double *deviation)
{
	double sum = 0, square = 0;
	for (int64_t i = 0; i < n; i++)
		sum += v[i];
	*mean = sum / (double)n;
	for (int64_t i = 0; i < n; i++)
		square += (v[i] - *mean) * (v[i] - *mean);
	*deviation = sqrt(square / (double)n);
}

/* The value below which a share q of n ascending values lies. */
static double quantile(const double *sorted, int64_t n, double q)
{
	const double at = q * (double)(n - 1);
	const int64_t below = (int64_t)at, above = below + 1 < n ? below + 1 : below;
	return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

void ensemble_init(struct ensemble *e, const double *v, int64_t realizations, int64_t places)
{
	*e = (struct ensemble){ places, realizations, numbers(places), numbers(places),
		numbers(places), numbers(places), numbers(places * realizations) };
	for (int64_t i = 0; i < places; i++) {
		double *here = e->sorted + i * realizations;
		for (int64_t r = 0; r < realizations; r++)
			here[r] = v[r * places + i];
		moments(here, realizations, &e->mean[i], &e->deviation[i]);
		qsort(here, (size_t)realizations, sizeof *here, ascending);
		e->low[i] = quantile(here, realizations, ENSEMBLE_LOW);
		e->high[i] = quantile(here, realizations, ENSEMBLE_HIGH);
	}
}

void ensemble_release(struct ensemble *e)
{
	mem_free(e->mean);
	mem_free(e->deviation);
	mem_free(e->low);
	mem_free(e->high);
	mem_free(e->sorted);
	*e = (struct ensemble){ 0 };
}

double ensemble_relative_l2(const double *v, const double *reference, int64_t n)
{
	double error = 0, whole = 0;
	for (int64_t i = 0; i < n; i++) {
		error += (v[i] - reference[i]) * (v[i] - reference[i]);
		whole += reference[i] * reference[i];
	}
	return sqrt(error / whole);
}

double ensemble_ks(const double *a, int64_t na, const double *b, int64_t nb)
{
	double most = 0;
	for (int64_t i = 0, k = 0; i < na && k < nb;) {
		const double v = fmin(a[i], b[k]);
		while (i < na && a[i] <= v)
			i++;
		while (k < nb && b[k] <= v)
			k++;
		most = fmax(most, fabs((double)i / (double)na - (double)k / (double)nb));
	}
	return most;
}

double ensemble_worst_ks(const struct ensemble *e, const struct ensemble *reference)
{
	double largest = 0, worst = 0;
	for (int64_t i = 0; i < e->places; i++)
		largest = fmax(largest, reference->deviation[i]);
	for (int64_t i = 0; i < e->places; i++) {
		if (!(reference->deviation[i] > 1e-6 * largest))
			continue;
		if (isnan(e->mean[i]))
			return NAN;
		worst = fmax(worst, ensemble_ks(e->sorted + i * e->realizations, e->realizations,
		                                reference->sorted + i * reference->realizations,
		                                reference->realizations));
	}
	return worst;
}
