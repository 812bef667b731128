/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dietrich and Newsam (1997); Wood and Chan (1994). */
#include "data-tools/make/field/field_torus.h"

#include <math.h>

#include "base/mem.h"

#define LONGEST 8                 /* in parts of the first torus */
#define MOST_POINTS (1 << 24)
#define ROUNDING 1e-12            /* of the eigenvalues' sum */

static void transform(const struct field_torus *t, double complex *v, double complex *column)
{
	const int64_t nx = t->n[0], ny = t->n[1];
	for (int64_t y = 0; y < ny; y++)
		field_fft_run(&t->fft[0], v + y * nx);
	for (int64_t x = 0; x < nx; x++) {
		for (int64_t y = 0; y < ny; y++)
			column[y] = v[y * nx + x];
		field_fft_run(&t->fft[1], column);
		for (int64_t y = 0; y < ny; y++)
			v[y * nx + x] = column[y];
	}
}

/* The distance of point i from point 0 on an axis of the torus. */
static double around(const struct field_torus *t, const struct field_grid *g, int axis, int64_t i)
{
	return (double)(i <= t->n[axis] / 2 ? i : t->n[axis] - i) * field_spacing(g, axis);
}

/* Sets the roots and what was clipped. */
static void decompose(struct field_torus *t, const struct field_grid *g,
                      double (*correlation)(const void *arg, double dx, double dy),
                      const void *arg)
{
	const int64_t nx = t->n[0], points = nx * t->n[1];
	double complex *v = mem_calloc((size_t)(points + t->n[1]), sizeof *v);
	double above = 0, below = 0;
	for (int64_t i = 0; i < points; i++)
		v[i] = correlation(arg, around(t, g, 0, i % nx), around(t, g, 1, i / nx));
	transform(t, v, v + points);
	for (int64_t i = 0; i < points; i++) {
		above += fmax(creal(v[i]), 0);
		below += fmax(-creal(v[i]), 0);
	}
	t->root = mem_calloc((size_t)points, sizeof *t->root);
	for (int64_t i = 0; i < points; i++)
		t->root[i] = sqrt(fmax(creal(v[i]), 0) / above);
	t->clipped = below > ROUNDING * above ? below / (above + below) : 0;
	mem_free(v);
}

void field_torus_init(struct field_torus *t, const struct field_grid *g,
                      double (*correlation)(const void *arg, double dx, double dy),
                      const void *arg)
{
	for (int longer = 1; longer == 1 || t->clipped > 0; longer *= 2) {
		int64_t n[FIELD_AXES];

		for (int axis = 0; axis < FIELD_AXES; axis++)
			for (n[axis] = longer; n[axis] < 2 * longer * (g->n[axis] - 1); n[axis] *= 2)
				;
		if (longer > 1 && (longer > LONGEST || n[0] * n[1] > MOST_POINTS))
			break;
		if (longer > 1)
			field_torus_release(t);
		for (int axis = 0; axis < FIELD_AXES; axis++) {
			t->n[axis] = n[axis];
			field_fft_init(&t->fft[axis], n[axis]);
		}
		decompose(t, g, correlation, arg);
	}
}

void field_torus_release(struct field_torus *t)
{
	for (int axis = 0; axis < FIELD_AXES; axis++)
		field_fft_release(&t->fft[axis]);
	mem_free(t->root);
}

int64_t field_torus_normals(const struct field_torus *t)
{
	return 2 * t->n[0] * t->n[1];
}

/* Real and imaginary part of the outcome are two realizations, of which one is taken: a pair would
 * tie a realization to its neighbour's number. */
void field_torus_add(const struct field_torus *t, const struct field_grid *g, double by,
                     double *normals, double *column, double *out)
{
	double complex *v = (double complex *)(void *)normals;
	for (int64_t i = 0; i < t->n[0] * t->n[1]; i++)
		v[i] *= t->root[i];
	transform(t, v, (double complex *)(void *)column);
	for (int64_t y = 0; y < g->n[1]; y++)
		for (int64_t x = 0; x < g->n[0]; x++)
			out[y * g->n[0] + x] += by * creal(v[y * t->n[0] + x]);
}
