/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The largest of n draws is below x with probability F(x)^n, F being the normal distribution. The
 * expected value is an integral over that; quantiles follow by bisection. */
#include "plan/time/rank_noise.h"

#include <math.h>

#define REACH 12.0               /* standard deviations: 1e12 draws stay below it */
#define STEPS 4800

/* The probability that the largest of n draws is below x. 1 - F is computed, which is precise where
 * F is nearly 1. */
static double below(double n, double x)
{
	return exp(n * log1p(-0.5 * erfc(x / M_SQRT2)));
}

/* E[X] = integral of 1 - P(X < x) for x > 0, less the integral of P(X < x) for x < 0. */
double rank_noise_largest(double n)
{
	const double width = REACH / STEPS;
	double sum = 0;
	for (int i = 0; i < STEPS; i++) {
		const double x = (i + 0.5) * width;
		sum += width * (1 - below(n, x) - below(n, -x));
	}
	return n > 1 ? sum : 0;
}

double rank_noise_quantile(double n, double p)
{
	double low = -REACH, high = REACH;
	for (int i = 0; i < 60; i++) {
		const double middle = (low + high) / 2;
		if (below(n, middle) < p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}
