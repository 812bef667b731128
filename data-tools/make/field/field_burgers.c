/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With f(y) = exp(-cos(pi y) / (2 pi nu)) and the heat kernel's w(z) = exp(-z^2 / (4 nu t)),
 *
 *   u = - int sin(pi (x - z)) f(x - z) w(z) dz / int f(x - z) w(z) dz.
 *
 * The integrands are analytic and fall off at both ends, where the trapezoidal rule converges
 * faster than any power of its step; the step is halved until two results agree. The exponent is
 * taken relative to its largest value: for small nu that is beyond the range of numbers. */
#include "data-tools/make/field/field_burgers.h"

#include <math.h>

#define PI 3.14159265358979323846
#define NEGLIGIBLE 42.0           /* exp(-42): 6e-19 */
#define FIRST_INTERVALS 64
#define MOST_INTERVALS (1 << 20)

struct ratio {
	double nu, x, t;
	double most;                  /* of the exponent */
};

static double exponent(const struct ratio *r, double z)
{
	return -cos(PI * (r->x - z)) / (2 * PI * r->nu) - z * z / (4 * r->nu * r->t);
}

/* With n intervals of the range from -end to end. */
static double quotient(const struct ratio *r, double end, int n)
{
	double above = 0, below = 0;
	for (int i = 0; i <= n; i++) {
		const double z = end * (2.0 * i / n - 1), e = exponent(r, z) - r->most;

		if (e < -NEGLIGIBLE)
			continue;
		above -= sin(PI * (r->x - z)) * exp(e);
		below += exp(e);
	}
	return above / below;
}

static double largest(const struct ratio *r, double end)
{
	double most = -INFINITY;
	for (int i = 0; i <= 1024; i++)
		most = fmax(most, exponent(r, end * (2.0 * i / 1024 - 1)));
	return most;
}

/* The cosine's term is between -1 and 1 in units of 1 / (2 pi nu), so that beyond `end` nothing
 * counts. */
double field_burgers(double nu, double x, double t)
{
	struct ratio r = { .nu = nu, .x = x, .t = t };
	if (t <= 0)
		return -sin(PI * x);
	const double end = sqrt(4 * nu * t * (1 / (PI * nu) + NEGLIGIBLE));
	r.most = largest(&r, end);
	double now = quotient(&r, end, FIRST_INTERVALS), before;
	int n = FIRST_INTERVALS;
	do {
		before = now;
		n *= 2;
		now = quotient(&r, end, n);
	} while (!(fabs(now - before) <= 1e-13) && n < MOST_INTERVALS);
	return now;
}
