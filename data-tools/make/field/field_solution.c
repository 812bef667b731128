/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-field burgers, allen-cahn, heat, poisson: solutions of classical equations as one sample with
 * the coordinates of points and u there, to validate networks against or, with noise, to find
 * coefficients from. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/shown.h"
#include "data-tools/make/field/field_allen_cahn.h"
#include "data-tools/make/field/field_burgers.h"
#include "data-tools/make/field/field_grid.h"
#include "data-tools/make/field/field_kinds.h"

#define PI 3.14159265358979323846

struct request;
struct equation {
	bool timed;                   /* t from 0 to 1 is a coordinate, too */
	double from, to;              /* x */
	int (*solve)(const struct request *q, double *u);     /* on the grid (t, x) */
};

struct request {
	struct generator_options common;
	int64_t x, t, modes, steps, sensors;
	double nu, diffusion, rate, noise;
	const char *form, *dtype;
	const struct equation *equation;
	double most, sum, squares;    /* of what was written */
};

#define AT(m) offsetof(struct request, m)
#define X { "x", 0, OPTION_INT, AT(x), "N", .min = 2, .max = 8193,                              \
	  .doc = "points along x, ends included; default: 201" }
#define T { "t", 0, OPTION_INT, AT(t), "N", .min = 2, .max = 8193,                              \
	  .doc = "points of time, from 0 to 1; default: 101" }
#define FORM                                                                                    \
	{ "form", 0, OPTION_CHOICE, AT(form), "points|grid",                                        \
	  .doc = "arrays (1, points), or (1, t, x); default: points" },                             \
	{ "sensors", 0, OPTION_INT, AT(sensors), "N", .min = 1, .max = 1 << 24,                     \
	  .doc = "this many of the points, drawn at random; default: all" },                          \
	{ "noise", 0, OPTION_FLOAT, AT(noise), "SHARE",                                             \
	  .doc = "of the deviation of u, added to u; default: 0" },                                 \
	{ "dtype", 0, OPTION_CHOICE, AT(dtype), "f32|f64", .doc = "the arrays' type; default: f64" },  \
	GENERATOR_SEED, GENERATOR_FILE
static const struct option_row burgers_rows[] = {
	GENERATOR_OUTPUT, X, T,
	{ "nu", 0, OPTION_FLOAT, AT(nu), "NU", .doc = "viscosity; default: 0.01 / pi" },
	FORM
};
static const struct option_row allen_cahn_rows[] = {
	GENERATOR_OUTPUT, X, T,
	{ "diffusion", 0, OPTION_FLOAT, AT(diffusion), "D", .doc = "default: 0.001" },
	{ "rate", 0, OPTION_FLOAT, AT(rate), "R", .doc = "of the reaction; default: 5" },
	{ "modes", 0, OPTION_INT, AT(modes), "N", .min = 8, .max = 65536,
	  .doc = "of the series in x, a power of two; default: 1024" },
	{ "steps", 0, OPTION_INT, AT(steps), "N", .min = 10, .max = 1 << 20,
	  .doc = "until t = 1; default: 2000" },
	FORM
};
static const struct option_row heat_rows[] = {
	GENERATOR_OUTPUT, X, T,
	{ "diffusion", 0, OPTION_FLOAT, AT(diffusion), "D", .doc = "default: 0.1" },
	FORM
};
static const struct option_row poisson_rows[] = { GENERATOR_OUTPUT, X, FORM };
#undef AT

/* The last values are those of x = to. */
static struct field_grid grid_of(const struct request *q)
{
	const struct equation *e = q->equation;
	return (struct field_grid){ .axes = e->timed ? 2 : 1, .n = { q->x, e->timed ? q->t : 1 },
		.lo = { e->from, 0 }, .hi = { e->to, 1 } };
}

/* --- equations --- */

static int solve_burgers(const struct request *q, double *u)
{
	const struct field_grid g = grid_of(q);
	const int64_t half = (q->x + 1) / 2;
	for (int64_t i = 0; i < q->t * half; i++) {
		double *row = u + i / half * q->x;
		const int64_t at = i % half, mirror = q->x - 1 - at;

		row[at] = at == 0 || at == mirror ? 0 :
			field_burgers(q->nu, field_at(&g, 0, at), field_at(&g, 1, i / half));
		row[mirror] = -row[at];
	}
	return 0;
}

static int solve_allen_cahn(const struct request *q, double *u)
{
	const struct allen_cahn a = { q->diffusion, q->rate, q->modes, q->steps };
	return allen_cahn_solve(&a, q->x, q->t, 1, u);
}

static int solve_heat(const struct request *q, double *u)
{
	const struct field_grid g = grid_of(q);
	for (int64_t i = 0; i < q->x * q->t; i++)
		u[i] = exp(-q->diffusion * PI * PI * field_at(&g, 1, i / q->x)) *
			sin(PI * field_at(&g, 0, i % q->x));
	return 0;
}

static int solve_poisson(const struct request *q, double *u)
{
	const struct field_grid g = grid_of(q);
	for (int64_t i = 0; i < q->x; i++)
		u[i] = sin(PI * field_at(&g, 0, i));
	return 0;
}

/* --- the record --- */

static int check(void *options)
{
	struct request *q = options;
	const struct field_grid g = grid_of(q);
	const struct { const char *name; double is, least, most; } range[] = {
		{ "nu", q->nu, 1e-3, 1e3 }, { "diffusion", q->diffusion, 1e-6, 1e3 },
		{ "rate", q->rate, 0, 1e3 }, { "noise", q->noise, 0, 100 },
	};
	for (size_t i = 0; i < sizeof range / sizeof *range; i++)
		if (!(range[i].is >= range[i].least && range[i].is <= range[i].most))
			return ERR(E_USAGE, NULL, "--%s: %g is not from %g to %g", range[i].name, range[i].is,
			           range[i].least, range[i].most);
	if (q->modes & (q->modes - 1))
		return ERR(E_USAGE, NULL, "--modes: %lld is no power of two", (long long)q->modes);
	if (q->sensors && strcmp(q->form, "grid") == 0)
		return ERR(E_USAGE, NULL, "--sensors are points, of which --form grid has none");
	if (q->sensors > field_points(&g))
		return ERR(E_USAGE, NULL, "--sensors: %lld of %lld points", (long long)q->sensors,
		           (long long)field_points(&g));
	return 0;
}

static enum dtype dtype_of(const struct request *q)
{
	return strcmp(q->dtype, "f64") == 0 ? DTYPE_F64 : DTYPE_F32;
}

static struct record_info describe(const void *options)
{
	static struct record_array time;
	const struct request *q = options;
	const struct field_grid g = grid_of(q);
	const int64_t points[] = { 1, q->sensors ? q->sensors : field_points(&g) };
	const int64_t grid[] = { 1, g.n[1], g.n[0] };
	const struct shape shape = strcmp(q->form, "points") == 0 ? shape_of(2, points) :
		g.axes == 1 ? shape_of(2, grid + 1) : shape_of(3, grid);
	const struct record_array any = { .dtype = dtype_of(q), .shape = shape, .role = RECORD_EXTRA };
	struct record_info info = { .input = any, .target = any, .mask = -1,
		.ignore = RECORD_NO_IGNORE, .extra = &time, .nextra = q->equation->timed };
	time = any;
	time.name = "t";
	info.input.name = "x";
	info.input.role = RECORD_INPUT;
	info.target.name = "u";
	info.target.role = RECORD_TARGET;
	return info;
}

/* Adds noise, and takes what is written of n points, in an order that is drawn; to: x, u, t. */
static int64_t choose(struct request *q, double *u, double *const *to)
{
	const struct field_grid g = grid_of(q);
	const int64_t n = field_points(&g), kept = q->sensors ? q->sensors : n;
	const uint64_t seed = (uint64_t)q->common.seed;
	int64_t *order = mem_calloc((size_t)n, sizeof *order);
	for (int64_t i = 0; i < n; i++) {
		order[i] = i;
		q->sum += u[i] / (double)n;
		q->squares += u[i] * u[i] / (double)n;
		q->most = fmax(q->most, fabs(u[i]));
	}
	const double noise = q->noise * sqrt(fmax(q->squares - q->sum * q->sum, 0));
	if (q->sensors)
		rng_permutation(seed, hash_name("field.sensors"), 0, n, order);
	for (int64_t i = 0; i < kept; i++) {
		to[0][i] = field_at(&g, 0, order[i] % g.n[0]);
		to[1][i] = u[order[i]];
		if (noise > 0)
			to[1][i] += noise * rng_normal(seed, hash_name("field.noise"), 0, (uint64_t)i);
		to[2][i] = g.axes > 1 ? field_at(&g, 1, order[i] / g.n[0]) : 0;
	}
	mem_free(order);
	return kept;
}

static int make(void *options, struct generator *g, struct record_writer *w)
{
	struct request *q = options;
	const struct field_grid grid = grid_of(q);
	const size_t n = (size_t)field_points(&grid);
	double *v = mem_calloc(7 * n, sizeof *v);
	double *const part[] = { v + n, v + 2 * n, v + 3 * n };
	void *const stored[] = { v + 4 * n, v + 5 * n, v + 6 * n };
	int rc = q->equation->solve(q, v);
	(void)g;
	if (rc == 0) {
		const int64_t kept = choose(q, v, part);

		for (int i = 0; i < 3; i++)
			dtype_convert(dtype_of(q), stored[i], DTYPE_F64, part[i], kept);
		rc = record_add(w, &(struct record_sample){ .data = (const void *const *)stored });
	}
	mem_free(v);
	return rc;
}

static void tell(const void *options)
{
	const struct request *q = options;
	const struct field_grid g = grid_of(q);
	const double variance = q->squares - q->sum * q->sum;
	printf("%s: u at %lld points, mean %.4g, deviation %.4g, largest magnitude %.4g\n",
	       shown(q->common.output), (long long)(q->sensors ? q->sensors : field_points(&g)),
	       q->sum, variance > 0 ? sqrt(variance) : 0, q->most);
}

/* --- programs --- */

static const struct equation burgers_equation = { true, -1, 1, solve_burgers };
static const struct equation allen_cahn_equation = { true, -1, 1, solve_allen_cahn };
static const struct equation heat_equation = { true, 0, 1, solve_heat };
static const struct equation poisson_equation = { false, -1, 1, solve_poisson };

#define DEFAULTS .common = GENERATOR_DEFAULTS, .x = 201, .t = 101, .modes = 1024, .steps = 2000,  \
	.nu = 0.01 / PI, .rate = 5, .form = "points", .dtype = "f64"
static struct request burgers = { DEFAULTS, .diffusion = 1, .equation = &burgers_equation };
static struct request allen_cahn = { DEFAULTS, .diffusion = 1e-3,
	.equation = &allen_cahn_equation };
static struct request heat = { DEFAULTS, .diffusion = 0.1, .equation = &heat_equation };
static struct request poisson = { DEFAULTS, .diffusion = 1, .equation = &poisson_equation };

#define PROGRAM(kind, doc, table) { .name = "dlx-field " kind, .about = doc, .rows = table,     \
	.check = check, .describe = describe, .make = make, .tell = tell }
static const struct generator_program burgers_program = PROGRAM("burgers",
	"u_t + u u_x = nu u_xx on [-1, 1], u(-1) = u(1) = 0, u(x, 0) = -sin(pi x).", burgers_rows);
static const struct generator_program allen_cahn_program = PROGRAM("allen-cahn",
	"u_t = d u_xx - r (u^3 - u) on [-1, 1], u(-1) = u(1) = -1, u(x, 0) = x^2 cos(pi x).",
	allen_cahn_rows);
static const struct generator_program heat_program = PROGRAM("heat",
	"u_t = d u_xx on [0, 1], u(0) = u(1) = 0, u(x, 0) = sin(pi x).", heat_rows);
static const struct generator_program poisson_program = PROGRAM("poisson",
	"u'' = -pi^2 sin(pi x) on [-1, 1], u(-1) = u(1) = 0.", poisson_rows);

const struct field_kind kind_burgers = { &burgers_program, &burgers.common };
const struct field_kind kind_allen_cahn = { &allen_cahn_program, &allen_cahn.common };
const struct field_kind kind_heat = { &heat_program, &heat.common };
const struct field_kind kind_poisson = { &poisson_program, &poisson.common };
