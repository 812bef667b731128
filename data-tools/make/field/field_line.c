/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/make/field/field_line.h"

/* The integral from the first point on, in place: of each interval that of the cubic through the
 * four points around it, or at an end the four nearest. */
static void integrate(int64_t n, double step, double *v)
{
	const double h = step / 24;
	double a = v[0], b = v[1], c = v[2], d = v[3], sum = 0;
	v[0] = 0;
	v[1] = sum += h * (9 * a + 19 * b - 5 * c + d);
	for (int64_t i = 2; i < n - 1; i++) {
		v[i] = sum += h * (13 * (b + c) - a - d);
		if (i < n - 2) {
			a = b;
			b = c;
			c = d;
			d = v[i + 2];
		}
	}
	v[n - 1] = sum + h * (9 * d + 19 * c - 5 * b + a);
}

void field_line_solve(int64_t n, double step, double factor, const double *k, const double *f,
                      double *scratch, double *u)
{
	double *force = scratch, *inverse = scratch + n;
	for (int64_t i = 0; i < n; i++)
		force[i] = f[i] / factor;
	integrate(n, step, force);
	for (int64_t i = 0; i < n; i++) {
		u[i] = force[i] / k[i];
		inverse[i] = 1 / k[i];
	}
	integrate(n, step, u);
	integrate(n, step, inverse);
	const double constant = u[n - 1] / inverse[n - 1];
	for (int64_t i = 0; i < n; i++)
		u[i] = (constant - force[i]) / k[i];
	integrate(n, step, u);
	u[n - 1] = 0;
}
