/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Poisson numbers without approximation: small means by the inverse of the distribution function,
 * others by rejection from a transformed ratio of uniforms (PTRS: Hörmann, Insurance: Mathematics
 * and Economics 12, 39, 1993), which rejects one in ten at the most. */
#include "data-tools/make/stem/stem_dose.h"

#include <math.h>

#include "base/hash.h"
#include "base/rng.h"

#define SMALL 10.0
#define DRAWS 1024               /* numbers that a pixel has; 10^-500 of them use all */

struct draw {
	uint64_t seed, stream, sample, next;
};

static double uniform(struct draw *d)
{
	return rng_uniform(d->seed, d->stream, d->sample, d->next++);
}

/* One number is enough: it has 53 bits, and what is as improbable as its last one is cut off. */
static double count_small(double mean, double u)
{
	double k = 0, p = exp(-mean), sum = p;
	while (u >= sum && k < 100) {
		p *= mean / ++k;
		sum += p;
	}
	return k;
}

static double log_factorial(double k)
{
	int sign;
	return lgamma_r(k + 1, &sign);
}

static double count_large(double mean, struct draw *d)
{
	const double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b,
	             scale = 1.1239 + 1.1328 / (b - 3.4), sure = 0.9277 - 3.6224 / (b - 2);
	for (int i = 0; i < DRAWS / 2; i++) {
		const double u = uniform(d) - 0.5, v = uniform(d), side = 0.5 - fabs(u),
		             k = floor((2 * a / side + b) * u + mean + 0.43);

		if (side >= 0.07 && v <= sure)
			return k;
		if (!(k >= 0) || (side < 0.013 && v > side))
			continue;
		if (log(v * scale / (a / (side * side) + b)) <=
		    k * log(mean) - mean - log_factorial(k))
			return k;
	}
	return floor(mean);
}

double dose_count(double mean, uint64_t seed, uint64_t sample, uint64_t pixel)
{
	struct draw d = { seed, hash_name("stem.dose"), sample, pixel * DRAWS };
	return mean < SMALL ? count_small(mean, uniform(&d)) : count_large(mean, &d);
}
