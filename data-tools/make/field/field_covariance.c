/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/make/field/field_covariance.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

/* Mean and variance. Five deviations above the mean, exp is still a float32. */
#define MOST 1e6
#define MOST_OF_LOGARITHM 40.0

/* One of the list: "L", of all axes, or "LX:LY". */
static int read_length(const char *text, int axes, struct field_scale *scale)
{
	const int n = field_numbers("length", text, ':', scale->length, axes);
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		if (!(scale->length[i] > 0 && scale->length[i] <= 1e6))
			return ERR(E_USAGE, NULL, "--length: %g is not above 0 and up to 1e6",
			           scale->length[i]);
	for (int i = n; i < FIELD_AXES; i++)
		scale->length[i] = scale->length[0];
	return 0;
}

static int read_lengths(const char *text, int axes, struct field_scale *scale)
{
	char *list = mem_strdup(text), *rest = list;
	int n = 0, rc = 0;
	while (rest && rc == 0) {
		if (n == FIELD_SCALES)
			rc = ERR(E_USAGE, NULL, "--length: more than %d lengths", FIELD_SCALES);
		else
			rc = read_length(strsep(&rest, ","), axes, &scale[n++]);
	}
	mem_free(list);
	return rc < 0 ? rc : n;
}

/* How many scales there are. */
static int read_scales(const struct field_covariance *c, int axes, struct field_scale *scale)
{
	double variance[FIELD_SCALES];
	const int n = read_lengths(c->length, axes, scale);
	if (n < 0)
		return n;
	const int given = field_numbers("variance", c->variance, ',', variance, FIELD_SCALES);
	if (given < 0)
		return given;
	if (given != 1 && given != n)
		return ERR(E_USAGE, NULL, "--variance: %d numbers for %d length%s; expected one of all, or "
		           "one of each", given, n, n == 1 ? "" : "s");
	for (int i = 0; i < n; i++) {
		scale[i].variance = given == 1 ? variance[0] / n : variance[i];
		if (scale[i].variance < 0)
			return ERR(E_USAGE, NULL, "--variance: %g is below 0", scale[i].variance);
	}
	return n;
}

int field_covariance_check(const struct field_covariance *c, int axes, bool of_logarithm)
{
	struct field_scale scale[FIELD_SCALES];
	const double most = of_logarithm ? MOST_OF_LOGARITHM : MOST;
	double sum = 0;
	const int n = read_scales(c, axes, scale);
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		sum += scale[i].variance;
	if (sum > most)
		return ERR(E_USAGE, NULL, "--variance: %g in all is above %g", sum, most);
	if (!(fabs(c->mean) <= most))
		return ERR(E_USAGE, NULL, "--mean: %g is not from %g to %g", c->mean, -most, most);
	return 0;
}

void field_covariance_init(const struct field_covariance *c, struct field_gauss *g,
                           const char *name, const struct field_grid *grid)
{
	struct field_scale scale[FIELD_SCALES];
	const int n = read_scales(c, grid->axes, scale);
	BUG_IF(n < 0, "a covariance that was not checked");
	field_gauss_init(g, name, grid, field_kernel_find(c->kernel), n, scale);
	for (int s = 0; s < n; s++) {
		const struct field_torus *t = &g->scale[s].torus;

		if (t->clipped > 0)
			warn("the covariance of --length %g:%g is not positive on a torus of %lld x %lld "
			     "points: %.1e of it was clipped", scale[s].length[0], scale[s].length[1],
			     (long long)t->n[0], (long long)t->n[1], t->clipped);
	}
}
