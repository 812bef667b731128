/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Formulas of Eisenstein and Hu (1998), by the numbers of their paper. */
#include "data-tools/make/cosmo/cosmo_spectrum.h"

#include <math.h>

#define STEPS 4096       /* of an integral by Simpson's rule; even */

/* The integral of f from a to b. */
static double integrate(double (*f)(double x, const void *of), const void *of, double a, double b)
{
	const double d = (b - a) / STEPS;
	double sum = f(a, of) + f(b, of);
	for (int i = 1; i < STEPS; i++)
		sum += (i % 2 ? 4 : 2) * f(a + i * d, of);
	return sum * d / 3;
}

/* --- the transfer function --- */

/* Equations 2 to 7: when matter dominates, when baryons are released, how far sound has come. */
static void find_epochs(struct spectrum *s, double m, double b, double theta)
{
	const double b1 = 0.313 * pow(m, -0.419) * (1 + 0.607 * pow(m, 0.674));
	const double b2 = 0.238 * pow(m, 0.223);
	const double r = 31.5 * b / pow(theta, 4) * 1000;
	s->z_eq = 2.5e4 * m / pow(theta, 4);
	s->k_eq = 0.0746 * m / (theta * theta);
	s->z_d = 1291 * pow(m, 0.251) / (1 + 0.659 * pow(m, 0.828)) * (1 + b1 * pow(b, b2));
	s->r_d = r / (1 + s->z_d);
	s->r_eq = r / s->z_eq;
	s->s = 2 / (3 * s->k_eq) * sqrt(6 / s->r_eq) *
	       log((sqrt(1 + s->r_d) + sqrt(s->r_d + s->r_eq)) / (1 + sqrt(s->r_eq)));
	s->k_silk = 1.6 * pow(b, 0.52) * pow(m, 0.73) * (1 + pow(10.4 * m, -0.95));
}

/* Equations 11 and 12, for cold dark matter. */
static void find_dark_matter(struct spectrum *s, double m, double fb)
{
	const double a1 = pow(46.9 * m, 0.670) * (1 + pow(32.1 * m, -0.532));
	const double a2 = pow(12.0 * m, 0.424) * (1 + pow(45.0 * m, -0.582));
	const double b1 = 0.944 / (1 + pow(458 * m, -0.708));
	const double b2 = pow(0.395 * m, -0.0266);
	s->alpha_c = pow(a1, -fb) * pow(a2, -fb * fb * fb);
	s->beta_c = 1 / (1 + b1 * (pow(1 - fb, b2) - 1));
}

/* Equations 14, 15, 23 and 24, for baryons. */
static void find_baryons(struct spectrum *s, double m, double fb)
{
	const double y = s->z_eq / (1 + s->z_d), root = sqrt(1 + y);
	const double g = y * (-6 * root + (2 + 3 * y) * log((root + 1) / (root - 1)));
	s->alpha_b = 2.07 * s->k_eq * s->s * pow(1 + s->r_d, -0.75) * g;
	s->beta_node = 8.41 * pow(m, 0.435);
	s->beta_b = 0.5 + fb + (3 - 2 * fb) * sqrt(17.2 * m * 17.2 * m + 1);
}

/* Equations 19 and 20. */
static double pressureless(double q, double alpha, double beta)
{
	const double l = log(exp(1) + 1.8 * beta * q);
	return l / (l + (14.2 / alpha + 386 / (1 + 69.9 * pow(q, 1.08))) * q * q);
}

/* Equations 17 and 18; k in 1/Mpc. */
static double dark_matter(const struct spectrum *s, double k, double q)
{
	const double f = 1 / (1 + pow(k * s->s / 5.4, 4));
	return f * pressureless(q, 1, s->beta_c) + (1 - f) * pressureless(q, s->alpha_c, s->beta_c);
}

/* Equations 21 and 22; k in 1/Mpc. */
static double baryons(const struct spectrum *s, double k, double q)
{
	const double x = k * s->s, apparent = x / cbrt(1 + pow(s->beta_node / x, 3));
	const double rises = pressureless(q, 1, 1) / (1 + x / 5.2 * (x / 5.2));
	const double damped = s->alpha_b / (1 + pow(s->beta_b / x, 3)) * exp(-pow(k / s->k_silk, 1.4));
	return (rises + damped) * sin(apparent) / apparent;
}

double spectrum_transfer(const struct spectrum *s, double k)
{
	const double fb = s->c.omega_b / s->c.omega_m, kh = k * s->c.h;
	const double q = kh / (13.41 * s->k_eq);
	if (k <= 0)
		return 1;
	return fb * baryons(s, kh, q) + (1 - fb) * dark_matter(s, kh, q);
}

/* --- the spectrum --- */

static double unscaled_power(const struct spectrum *s, double k)
{
	const double t = spectrum_transfer(s, k);
	return pow(k, s->c.n_s) * t * t;
}

double spectrum_power(const struct spectrum *s, double k)
{
	return k > 0 ? s->amplitude * unscaled_power(s, k) : 0;
}

/* A sphere's window of radius 8 Mpc/h, as a function of ln k. */
static double variance_of_spheres(double ln_k, const void *of)
{
	const double k = exp(ln_k), x = 8 * k;
	const double w = x < 1e-3 ? 1 - x * x / 10 : 3 * (sin(x) - x * cos(x)) / (x * x * x);
	return k * k * k * unscaled_power(of, k) * w * w / (2 * M_PI * M_PI);
}

void spectrum_init(struct spectrum *s, const struct cosmology *c)
{
	const double m = c->omega_m * c->h * c->h, b = c->omega_b * c->h * c->h;
	const double fb = c->omega_b / c->omega_m;
	s->c = *c;
	find_epochs(s, m, b, c->t_cmb / 2.7);
	find_dark_matter(s, m, fb);
	find_baryons(s, m, fb);
	s->amplitude = c->sigma_8 * c->sigma_8 /
	               integrate(variance_of_spheres, s, log(1e-5), log(1e3));
}

/* --- growth --- */

/* Hubble's constant at scale a, over today's. */
static double expansion(const struct cosmology *c, double a)
{
	return sqrt(c->omega_m / (a * a * a) + 1 - c->omega_m);
}

/* da / (a E)^3 with a = t^2, whose derivatives are finite at 0. */
static double growth_integrand(double t, const void *of)
{
	const double a = t * t, e = a > 0 ? a * expansion(of, a) : 0;
	return e > 0 ? 2 * t / (e * e * e) : 0;
}

static double growth(const struct cosmology *c, double a)
{
	return expansion(c, a) * integrate(growth_integrand, c, 0, sqrt(a));
}

double cosmology_growth(const struct cosmology *c, double z)
{
	return growth(c, 1 / (1 + z)) / growth(c, 1);
}
