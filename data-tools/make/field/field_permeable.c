/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-field darcy: -div(k grad u) = f on the unit square with a random permeability k. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "data-tools/make/field/field_covariance.h"
#include "data-tools/make/field/field_darcy.h"
#include "data-tools/make/field/field_kinds.h"
#include "data-tools/make/field/field_realizations.h"

struct request {
	struct realizations r;
	int64_t cells;
	struct field_covariance covariance;
	double source;
	const char *values, *edge[DARCY_EDGES];
	double low, high;             /* of --values */
	struct darcy_condition condition[DARCY_EDGES];
	struct field_gauss gauss;
};

#define AT(m) offsetof(struct request, m)
static const struct option_row rows[] = {
	GENERATOR_OUTPUT,
	GENERATOR_NUMBER("realizations", 'n'),
	{ "cells", 0, OPTION_INT, AT(cells), "N", .min = 4, .max = 1024,
	  .doc = "along a side of the square; default: 64" },
	COVARIANCE_OPTIONS(AT(covariance), "of the logarithm of k, one a scale; default: 0.2",
	                   "of the logarithm of k; default: 1", "of the logarithm of k; default: 0"),
	{ "values", 0, OPTION_TEXT, AT(values), "LOW,HIGH",
	  .doc = "k has but these two, by the Gaussian field's sign; default: log-normal" },
	{ "source", 0, OPTION_FLOAT, AT(source), "F", .doc = "right-hand side; default: 1" },
	{ "left", 0, OPTION_TEXT, AT(edge[DARCY_LEFT]), "U|flux:G",
	  .doc = "u on the side x = 0, or k du/dn; default: 0" },
	{ "right", 0, OPTION_TEXT, AT(edge[DARCY_RIGHT]), "U|flux:G", .doc = "of x = 1; default: 0" },
	{ "bottom", 0, OPTION_TEXT, AT(edge[DARCY_BOTTOM]), "U|flux:G", .doc = "of y = 0; default: 0" },
	{ "top", 0, OPTION_TEXT, AT(edge[DARCY_TOP]), "U|flux:G", .doc = "of y = 1; default: 0" },
	REALIZATIONS_SENSORS("u-sensors", 0, "of the solution: N, N x N places, or @X:Y,X:Y"),
	REALIZATIONS_SENSORS("k-sensors", 1, "of the permeability"),
	REALIZATIONS_NOISE,
	REALIZATIONS_DTYPE,
	GENERATOR_END
};
#undef AT

/* --- options --- */

static int read_edges(struct request *q)
{
	static const char *const name[DARCY_EDGES] = { "left", "right", "bottom", "top" };
	bool fixed = false;
	for (int i = 0; i < DARCY_EDGES; i++) {
		const char *text = q->edge[i];
		const bool flux = strncmp(text, "flux:", 5) == 0;

		q->condition[i].flux = flux;
		TRY(field_numbers(name[i], flux ? text + 5 : text, ',', &q->condition[i].value, 1));
		fixed |= !flux;
	}
	if (!fixed)
		return ERR(E_USAGE, NULL, "u is given on no side, so that any constant may be added to it; "
		           "expected a number in place of 'flux' on one of --left, --right, --bottom and "
		           "--top");
	return 0;
}

static int read_values(struct request *q)
{
	double v[2];
	if (!q->values)
		return 0;
	const int n = field_numbers("values", q->values, ',', v, 2);
	if (n < 0)
		return n;
	if (n != 2 || !(v[0] > 0 && v[1] > 0))
		return ERR(E_USAGE, NULL, "--values: '%s': expected two numbers above 0", q->values);
	q->low = v[0];
	q->high = v[1];
	return 0;
}

static int check(void *options)
{
	struct request *q = options;
	q->r.grid = (struct field_grid){ .axes = 2, .n = { q->cells, q->cells }, .hi = { 1, 1 },
		.cells = true };
	TRY(field_covariance_check(&q->covariance, 2, true));
	if (!(fabs(q->source) <= 1e12))
		return ERR(E_USAGE, NULL, "--source: %g is not from -1e12 to 1e12", q->source);
	TRY(read_values(q));
	TRY(read_edges(q));
	return realizations_check(&q->r);
}

/* --- realizations --- */

/* Scratch of a realization: the source, then that of the Gaussian field. */
static int open_fields(void *options, int64_t *scratch)
{
	struct request *q = options;
	field_covariance_init(&q->covariance, &q->gauss, "k", &q->r.grid);
	*scratch = field_points(&q->r.grid) + field_gauss_scratch(&q->gauss);
	return 0;
}

static void close_fields(void *options)
{
	struct request *q = options;
	field_gauss_release(&q->gauss);
}

static int make_fields(const void *options, int64_t number, double *scratch, double *const *field)
{
	const struct request *q = options;
	const int64_t n = field_points(&q->r.grid);
	double *u = field[0], *k = field[1];
	struct darcy d = { .n = q->cells };
	field_gauss_draw(&q->gauss, (uint64_t)q->r.common.seed, number, scratch + n, k);
	for (int64_t i = 0; i < n; i++) {
		const double v = q->covariance.mean + k[i];

		k[i] = !q->values ? exp(v) : v < 0 ? q->low : q->high;
		scratch[i] = q->source;
	}
	memcpy(d.edge, q->condition, sizeof d.edge);
	darcy_init(&d);
	const int rc = darcy_solve(&d, k, scratch, u);
	darcy_release(&d);
	return rc;
}

static const struct realization_kind fields = { .fields = 2, .name = { "u", "k" },
	.sensors = { "u-sensors", "k-sensors" }, .input = 1, .target = 0, .order = 2,
	.open = open_fields, .close = close_fields, .make = make_fields };

static struct request darcy = { .r = REALIZATIONS_DEFAULTS(&fields), .cells = 64,
	.covariance = COVARIANCE_DEFAULTS, .source = 1,
	.edge = { "0", "0", "0", "0" } };

static const struct generator_program program = { .name = "dlx-field darcy",
	.about = "-div(k grad u) = f on the unit square with a random permeability k.",
	.rows = rows, .check = check, .describe = realizations_describe, .make = realizations_make,
	.tell = realizations_tell };

const struct field_kind kind_darcy = { &program, &darcy.r.common };
