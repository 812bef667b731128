/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-field elliptic, dlx-field stochastic-poisson: solutions u on [-1, 1], 0 at both ends, of
 *
 *   -c d/dx (k du/dx) = f, k = exp(0.2 sin(1.5 pi (x + 1)) + khat) and f Gaussian fields, and
 *   u'' = f, f a sum of sines with random coefficients.
 *
 * The first is the problem that physics-informed GANs were introduced with (Yang, Zhang and
 * Karniadakis 2020); of the second all statistics are known. */
#include <math.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/rng.h"
#include "data-tools/make/field/field_gauss.h"
#include "data-tools/make/field/field_kinds.h"
#include "data-tools/make/field/field_line.h"
#include "data-tools/make/field/field_realizations.h"

#define PI 3.14159265358979323846
#define MOST_MODES 64
#define MOST_POINTS 4097

struct request {
	struct realizations r;
	int64_t points, modes;
	double k_length, k_variance, f_length, f_mean, f_variance, factor;
	struct field_gauss k, f;
};

#define AT(m) offsetof(struct request, m)
#define POINTS { "points", 0, OPTION_INT, AT(points), "N", .min = 8, .max = MOST_POINTS,        \
	  .doc = "of the grid from -1 to 1, ends included; default: 401" }
static const struct option_row elliptic_rows[] = {
	GENERATOR_OUTPUT,
	GENERATOR_NUMBER("realizations", 'n'),
	POINTS,
	{ "k-length", 0, OPTION_FLOAT, AT(k_length), "L",
	  .doc = "correlation length of the logarithm of k; default: 1" },
	{ "k-variance", 0, OPTION_FLOAT, AT(k_variance), "V",
	  .doc = "of the logarithm of k; default: 0.16" },
	{ "f-length", 0, OPTION_FLOAT, AT(f_length), "L",
	  .doc = "correlation length of f; default: 0.2" },
	{ "f-mean", 0, OPTION_FLOAT, AT(f_mean), "M", .doc = "default: 0.5" },
	{ "f-variance", 0, OPTION_FLOAT, AT(f_variance), "V", .doc = "default: 0.0225" },
	{ "factor", 0, OPTION_FLOAT, AT(factor), "C", .doc = "of the equation; default: 0.1" },
	REALIZATIONS_SENSORS("u-sensors", 0, "of the solution: N, equidistant, or @X,X"),
	REALIZATIONS_SENSORS("k-sensors", 1, "of the coefficient"),
	REALIZATIONS_SENSORS("f-sensors", 2, "of the right-hand side"),
	REALIZATIONS_NOISE,
	REALIZATIONS_DTYPE,
	GENERATOR_END
};
static const struct option_row poisson_rows[] = {
	GENERATOR_OUTPUT,
	GENERATOR_NUMBER("realizations", 'n'),
	POINTS,
	{ "modes", 0, OPTION_INT, AT(modes), "N", .min = 1, .max = MOST_MODES,
	  .doc = "sines that f is a sum of; default: 4" },
	REALIZATIONS_SENSORS("u-sensors", 0, "of the solution: N, equidistant, or @X,X"),
	REALIZATIONS_SENSORS("f-sensors", 1, "of the right-hand side"),
	REALIZATIONS_NOISE,
	REALIZATIONS_DTYPE,
	GENERATOR_END
};
#undef AT

static void set_grid(struct request *q)
{
	q->r.grid = (struct field_grid){ .axes = 1, .n = { q->points, 1 }, .lo = { -1, 0 },
		.hi = { 1, 1 } };
}

/* --- elliptic --- */

static int check_elliptic(void *options)
{
	struct request *q = options;
	const struct { const char *name; double is, least, most; } range[] = {
		{ "k-length", q->k_length, 1e-3, 1e3 }, { "k-variance", q->k_variance, 0, 25 },
		{ "f-length", q->f_length, 1e-3, 1e3 }, { "f-mean", q->f_mean, -1e6, 1e6 },
		{ "f-variance", q->f_variance, 0, 1e6 }, { "factor", q->factor, 1e-6, 1e6 },
	};
	for (size_t i = 0; i < sizeof range / sizeof *range; i++)
		if (!(range[i].is >= range[i].least && range[i].is <= range[i].most))
			return ERR(E_USAGE, NULL, "--%s: %g is not from %g to %g", range[i].name, range[i].is,
			           range[i].least, range[i].most);
	const double least = fmin(q->k_length, q->f_length), most = least / 4;
	set_grid(q);
	if (field_spacing(&q->r.grid, 0) > most)
		return ERR(E_USAGE, NULL, "--points: %lld points are %g apart, more than a quarter of the "
		           "correlation length %g; expected %.0f at least", (long long)q->points,
		           field_spacing(&q->r.grid, 0), least, ceil(2 / most) + 1);
	return realizations_check(&q->r);
}

static int open_elliptic(void *options, int64_t *scratch)
{
	struct request *q = options;
	const struct field_scale k = { q->k_variance, { q->k_length, 1 } };
	const struct field_scale f = { q->f_variance, { q->f_length, 1 } };
	field_gauss_init(&q->k, "k", &q->r.grid, KERNEL_SQUARED_EXPONENTIAL, 1, &k);
	field_gauss_init(&q->f, "f", &q->r.grid, KERNEL_SQUARED_EXPONENTIAL, 1, &f);
	*scratch = 2 * q->points;
	if (field_gauss_scratch(&q->k) > *scratch)
		*scratch = field_gauss_scratch(&q->k);
	if (field_gauss_scratch(&q->f) > *scratch)
		*scratch = field_gauss_scratch(&q->f);
	return 0;
}

static void close_elliptic(void *options)
{
	struct request *q = options;
	field_gauss_release(&q->k);
	field_gauss_release(&q->f);
}

static int make_elliptic(const void *options, int64_t number, double *scratch,
                         double *const *field)
{
	const struct request *q = options;
	const struct field_grid *g = &q->r.grid;
	double *u = field[0], *k = field[1], *f = field[2];
	field_gauss_draw(&q->k, (uint64_t)q->r.common.seed, number, scratch, k);
	field_gauss_draw(&q->f, (uint64_t)q->r.common.seed, number, scratch, f);
	for (int64_t i = 0; i < q->points; i++) {
		k[i] = exp(0.2 * sin(1.5 * PI * (field_at(g, 0, i) + 1)) + k[i]);
		f[i] += q->f_mean;
	}
	field_line_solve(q->points, field_spacing(g, 0), q->factor, k, f, scratch, u);
	return 0;
}

/* --- stochastic Poisson --- */

static int check_poisson(void *options)
{
	struct request *q = options;
	set_grid(q);
	return realizations_check(&q->r);
}

static int open_poisson(void *options, int64_t *scratch)
{
	(void)options;
	*scratch = MOST_MODES;
	return 0;
}

static void close_poisson(void *options)
{
	(void)options;
}

static int make_poisson(const void *options, int64_t number, double *scratch, double *const *field)
{
	const struct request *q = options;
	double *u = field[0], *f = field[1];
	rng_normals((uint64_t)q->r.common.seed, hash_name("field.modes"), (uint64_t)number, 0, q->modes,
	            scratch);
	for (int64_t i = 0; i < q->points; i++) {
		const double x = field_at(&q->r.grid, 0, i);

		u[i] = f[i] = 0;
		for (int j = 1; j <= q->modes; j++) {
			const double wave = j * PI / 2, sine = scratch[j - 1] / j * sin(wave * (x + 1));

			f[i] += sine;
			u[i] -= sine / (wave * wave);
		}
	}
	return 0;
}

/* --- programs --- */

static const struct realization_kind elliptic_fields = { .fields = 3, .name = { "u", "k", "f" },
	.sensors = { "u-sensors", "k-sensors", "f-sensors" }, .input = 1, .target = 0, .order = 4,
	.open = open_elliptic, .close = close_elliptic, .make = make_elliptic };
static const struct realization_kind poisson_fields = { .fields = 2, .name = { "u", "f" },
	.sensors = { "u-sensors", "f-sensors" }, .input = 1, .target = 0, .order = 4,
	.open = open_poisson, .close = close_poisson, .make = make_poisson };

static struct request elliptic = { .r = REALIZATIONS_DEFAULTS(&elliptic_fields), .points = 401,
	.k_length = 1, .k_variance = 0.16, .f_length = 0.2, .f_mean = 0.5, .f_variance = 0.0225,
	.factor = 0.1 };
static struct request poisson = { .r = REALIZATIONS_DEFAULTS(&poisson_fields), .points = 401,
	.modes = 4 };

static const struct generator_program elliptic_program = { .name = "dlx-field elliptic",
	.about = "-c (k u')' = f on [-1, 1] with random k and f, and u = 0 at both ends.",
	.rows = elliptic_rows, .check = check_elliptic, .describe = realizations_describe,
	.make = realizations_make, .tell = realizations_tell };
static const struct generator_program poisson_program = { .name = "dlx-field stochastic-poisson",
	.about = "u'' = f on [-1, 1] with f a random sum of sines, and u = 0 at both ends.",
	.rows = poisson_rows, .check = check_poisson, .describe = realizations_describe,
	.make = realizations_make, .tell = realizations_tell };

const struct field_kind kind_elliptic = { &elliptic_program, &elliptic.r.common };
const struct field_kind kind_stochastic_poisson = { &poisson_program, &poisson.r.common };
