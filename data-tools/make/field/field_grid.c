/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/make/field/field_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define MOST_PLACES 65536
#define MOST_ORDER 4

int field_numbers(const char *option, const char *text, char mark, double *to, int most)
{
	for (int n = 0; n < most; n++) {
		char *end;

		to[n] = strtod(text, &end);
		if (end == text || (*end && *end != mark) || !isfinite(to[n]))
			return ERR(E_USAGE, NULL, "--%s: '%s' begins with no number, or has something else "
			           "than '%c' after it", option, text, mark);
		if (!*end)
			return n + 1;
		text = end + 1;
	}
	return ERR(E_USAGE, NULL, "--%s: more than %d number%s", option, most, most == 1 ? "" : "s");
}

/* --- places --- */

static void reserve(struct field_sensors *s, int64_t n)
{
	s->n = n;
	for (int axis = 0; axis < FIELD_AXES; axis++)
		s->at[axis] = mem_calloc((size_t)n, sizeof(double));
}

static int read_count(struct field_sensors *s, const char *option, const char *text,
                      const struct field_grid *g)
{
	char *end;
	const long n = strtol(text, &end, 10);
	const long most = g->axes == 1 ? MOST_PLACES : 256;
	if (end == text || *end || n < 1 || n > most)
		return ERR(E_USAGE, NULL, "--%s: '%s' is neither a number of places from 1 to %ld nor a "
		           "list of them, %s", option, text, most, g->axes == 1 ? "@X,X" : "@X:Y,X:Y");
	reserve(s, g->axes == 1 ? n : n * n);
	for (int64_t k = 0; k < s->n; k++)
		for (int axis = 0; axis < g->axes; axis++) {
			const double part = (double)(axis ? k / n : k % n) / (double)(n - 1);

			s->at[axis][k] = g->lo[axis] + (g->hi[axis] - g->lo[axis]) * (n == 1 ? 0.5 : part);
		}
	return 0;
}

static int read_place(struct field_sensors *s, int64_t k, const char *option, const char *text,
                      const struct field_grid *g)
{
	double v[FIELD_AXES];
	const int n = field_numbers(option, text, ':', v, FIELD_AXES);
	if (n < 0)
		return n;
	if (n != g->axes)
		return ERR(E_USAGE, NULL, "--%s: '%s': expected %d coordinate%s", option, text, g->axes,
		           g->axes == 1 ? "" : "s with ':' between them");
	for (int axis = 0; axis < n; axis++) {
		if (!(v[axis] >= g->lo[axis] && v[axis] <= g->hi[axis]))
			return ERR(E_USAGE, NULL, "--%s: %g is not from %g to %g", option, v[axis],
			           g->lo[axis], g->hi[axis]);
		s->at[axis][k] = v[axis];
	}
	return 0;
}

static int read_list(struct field_sensors *s, const char *option, const char *text,
                     const struct field_grid *g)
{
	char *list = mem_strdup(text), *rest = list;
	int64_t n = 1;
	int rc = 0;
	for (const char *p = text; *p; p++)
		n += *p == ',';
	reserve(s, n);
	for (int64_t k = 0; k < n && rc == 0; k++)
		rc = read_place(s, k, option, strsep(&rest, ","), g);
	mem_free(list);
	return rc;
}

int field_sensors_read(struct field_sensors *s, const char *option, const char *text,
                       const struct field_grid *g)
{
	if (!text)
		return 0;
	return *text == '@' ? read_list(s, option, text + 1, g) : read_count(s, option, text, g);
}

void field_sensors_release(struct field_sensors *s)
{
	for (int axis = 0; axis < FIELD_AXES; axis++)
		mem_free(s->at[axis]);
	*s = (struct field_sensors){ 0 };
}

/* --- values --- */

/* Lagrange's weights of `order` points of an axis from the returned one on. */
static int64_t weigh(const struct field_grid *g, int axis, int order, double x, double *weight)
{
	const double at = (x - field_at(g, axis, 0)) / field_spacing(g, axis);
	int64_t first = (int64_t)floor(at) - order / 2 + 1;
	if (first > g->n[axis] - order)
		first = g->n[axis] - order;
	first = first < 0 ? 0 : first;
	for (int i = 0; i < order; i++) {
		weight[i] = 1;
		for (int j = 0; j < order; j++)
			if (j != i)
				weight[i] *= (at - (double)(first + j)) / (i - j);
	}
	return first;
}

double field_sensors_value(const struct field_sensors *s, int64_t k, const struct field_grid *g,
                           int order, const double *field)
{
	double weight[FIELD_AXES][MOST_ORDER] = { { 1 }, { 1 } }, sum = 0;
	int64_t first[FIELD_AXES] = { 0 };
	int extent[FIELD_AXES] = { 1, 1 };
	for (int axis = 0; axis < g->axes; axis++) {
		extent[axis] = order < g->n[axis] ? order : (int)g->n[axis];
		first[axis] = weigh(g, axis, extent[axis], s->at[axis][k], weight[axis]);
	}
	for (int j = 0; j < extent[1]; j++)
		for (int i = 0; i < extent[0]; i++)
			sum += weight[1][j] * weight[0][i] * field[(first[1] + j) * g->n[0] + first[0] + i];
	return sum;
}
