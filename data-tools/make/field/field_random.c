/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-field gaussian, dlx-field lognormal: random fields of a given covariance. */
#include <math.h>

#include "base/err.h"
#include "data-tools/make/field/field_covariance.h"
#include "data-tools/make/field/field_kinds.h"
#include "data-tools/make/field/field_realizations.h"

#define MOST_POINTS 4096

struct request {
	struct realizations r;
	const char *points, *box;
	struct field_covariance covariance;
	bool exponential;             /* the field is exp of the Gaussian one */
	struct field_gauss gauss;
};

#define AT(m) offsetof(struct request, m)
static const struct option_row rows[] = {
	GENERATOR_OUTPUT,
	GENERATOR_NUMBER("realizations", 'n'),
	{ "points", 0, OPTION_TEXT, AT(points), "NX[,NY]",
	  .doc = "of one axis or two, ends included; default: 101" },
	{ "box", 0, OPTION_TEXT, AT(box), "LO,HI[,LO,HI]",
	  .doc = "the ends of the axes; default: 0,1 of each" },
	COVARIANCE_OPTIONS(AT(covariance), "correlation lengths, one a scale; default: 0.2",
	                   "one of each scale, or of all; default: 1", "of it; default: 0"),
	REALIZATIONS_SENSORS("sensors", 0, "N, equidistant, or @X,X; in two dimensions @X:Y,X:Y"),
	REALIZATIONS_NOISE,
	REALIZATIONS_DTYPE,
	GENERATOR_END
};
#undef AT

/* --- the grid --- */

static int read_points(const struct request *q, struct field_grid *g)
{
	double n[FIELD_AXES] = { 1, 1 };
	g->axes = field_numbers("points", q->points, ',', n, FIELD_AXES);
	if (g->axes < 0)
		return g->axes;
	for (int axis = 0; axis < FIELD_AXES; axis++) {
		const bool whole = floor(n[axis]) == n[axis];

		if (axis < g->axes && !(n[axis] >= 2 && n[axis] <= MOST_POINTS && whole))
			return ERR(E_USAGE, NULL, "--points: %g is no whole number from 2 to %d", n[axis],
			           MOST_POINTS);
		g->n[axis] = (int64_t)n[axis];
	}
	return 0;
}

static int read_box(const struct request *q, struct field_grid *g)
{
	double end[2 * FIELD_AXES] = { 0, 1, 0, 1 };
	if (q->box) {
		const int n = field_numbers("box", q->box, ',', end, 2 * g->axes);

		if (n < 0)
			return n;
		if (n != 2 * g->axes)
			return ERR(E_USAGE, NULL, "--box: %d numbers; expected %d, both ends of each axis of "
			           "--points", n, 2 * g->axes);
	}
	for (int axis = 0; axis < FIELD_AXES; axis++) {
		g->lo[axis] = end[2 * axis];
		g->hi[axis] = end[2 * axis + 1];
		if (!(g->lo[axis] < g->hi[axis]))
			return ERR(E_USAGE, NULL, "--box: %g is not below %g", g->lo[axis], g->hi[axis]);
	}
	return 0;
}

static int check(void *options)
{
	struct request *q = options;
	TRY(read_points(q, &q->r.grid));
	TRY(read_box(q, &q->r.grid));
	TRY(field_covariance_check(&q->covariance, q->r.grid.axes, q->exponential));
	return realizations_check(&q->r);
}

/* --- realizations --- */

static int open_fields(void *options, int64_t *scratch)
{
	struct request *q = options;
	field_covariance_init(&q->covariance, &q->gauss, "k", &q->r.grid);
	*scratch = field_gauss_scratch(&q->gauss);
	return 0;
}

static void close_fields(void *options)
{
	struct request *q = options;
	field_gauss_release(&q->gauss);
}

static int make_field(const void *options, int64_t number, double *scratch, double *const *field)
{
	const struct request *q = options;
	double *k = field[0], mean = q->covariance.mean;
	field_gauss_draw(&q->gauss, (uint64_t)q->r.common.seed, number, scratch, k);
	for (int64_t i = 0; i < field_points(&q->r.grid); i++)
		k[i] = q->exponential ? exp(mean + k[i]) : mean + k[i];
	return 0;
}

static const struct realization_kind fields = { .fields = 1, .name = { "k" },
	.sensors = { "sensors" }, .target = -1, .order = 2, .open = open_fields,
	.close = close_fields, .make = make_field };

#define DEFAULTS .r = REALIZATIONS_DEFAULTS(&fields), .points = "101",                          \
	.covariance = COVARIANCE_DEFAULTS
static struct request gaussian = { DEFAULTS }, lognormal = { DEFAULTS, .exponential = true };

static const struct generator_program gaussian_program = { .name = "dlx-field gaussian",
	.about = "Gaussian random fields.", .rows = rows, .check = check,
	.describe = realizations_describe, .make = realizations_make, .tell = realizations_tell };
static const struct generator_program lognormal_program = { .name = "dlx-field lognormal",
	.about = "Log-normal random fields: mean and covariance are those of the logarithm.",
	.rows = rows, .check = check, .describe = realizations_describe, .make = realizations_make,
	.tell = realizations_tell };

const struct field_kind kind_gaussian = { &gaussian_program, &gaussian.r.common };
const struct field_kind kind_lognormal = { &lognormal_program, &lognormal.r.common };
