/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/make/field/field_gauss.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

double field_correlation(enum field_kernel kernel, double distance_by_length)
{
	const double r = fabs(distance_by_length);
	const double s = sqrt(kernel == KERNEL_MATERN_3 ? 3 : 5) * r;
	if (kernel == KERNEL_SQUARED_EXPONENTIAL)
		return exp(-r * r);
	if (kernel == KERNEL_EXPONENTIAL)
		return exp(-r);
	return (1 + s + (kernel == KERNEL_MATERN_5 ? s * s / 3 : 0)) * exp(-s);
}

enum field_kernel field_kernel_find(const char *name)
{
	static const char *const names[] = { "squared-exponential", "exponential", "matern-3/2",
		"matern-5/2" };
	for (int i = 0; i < 4; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum field_kernel)i;
	BUG("kernel '%s'", name);
}

/* --- factors --- */

/* The next column, through point p: its correlations less what earlier columns have of them.
 * left[i]: of point i's variance what no column has; negative for points that were pivots. */
static void add_column(struct field_factor *f, const struct field_grid *g, int axis,
                       enum field_kernel kernel, double length, int64_t p, double *left)
{
	const int64_t n = f->n, j = f->rank;
	const double root = sqrt(left[p]);
	double *to = f->l + j * n;
	for (int64_t i = 0; i < n; i++)
		to[i] = field_correlation(kernel, (field_at(g, axis, i) - field_at(g, axis, p)) / length);
	for (int64_t k = 0; k < j; k++) {
		const double *of = f->l + k * n, at = of[p];

		for (int64_t i = 0; i < n; i++)
			to[i] -= at * of[i];
	}
	for (int64_t i = 0; i < n; i++) {
		to[i] = left[i] < 0 ? 0 : i == p ? root : to[i] / root;
		left[i] -= left[i] < 0 ? 0 : to[i] * to[i];
	}
	left[p] = -1;
	f->rank++;
}

static void factorise(struct field_factor *f, const struct field_grid *g, int axis,
                      enum field_kernel kernel, double length)
{
	const int64_t n = g->n[axis];
	double *left = mem_calloc((size_t)n, sizeof *left);
	int64_t room = 0;
	f->n = n;
	for (int64_t i = 0; i < n; i++)
		left[i] = 1;
	for (;;) {
		int64_t p = 0;

		for (int64_t i = 1; i < n; i++)
			p = left[i] > left[p] ? i : p;
		if (left[p] <= (double)n * DBL_EPSILON)
			break;
		if (f->rank == room) {
			room = room ? 2 * room : 32;
			f->l = mem_realloc(f->l, (size_t)(room * n) * sizeof *f->l);
		}
		add_column(f, g, axis, kernel, length, p, left);
	}
	mem_free(left);
}

struct plane {
	enum field_kernel kernel;
	const double *length;
};

static double correlation(const void *arg, double dx, double dy)
{
	const struct plane *p = arg;
	return field_correlation(p->kernel, hypot(dx / p->length[0], dy / p->length[1]));
}

void field_gauss_init(struct field_gauss *g, const char *name, const struct field_grid *grid,
                      enum field_kernel kernel, int scales, const struct field_scale *scale)
{
	*g = (struct field_gauss){ .grid = grid, .scales = scales };
	for (int s = 0; s < scales; s++) {
		char stream[64];

		snprintf(stream, sizeof stream, "field.%s.%d", name, s);
		g->scale[s].stream = hash_name(stream);
		g->scale[s].deviation = sqrt(scale[s].variance);
		g->scale[s].by_torus = grid->axes > 1 && kernel != KERNEL_SQUARED_EXPONENTIAL;
		if (g->scale[s].by_torus)
			field_torus_init(&g->scale[s].torus, grid, correlation,
			                 &(struct plane){ kernel, scale[s].length });
		for (int axis = 0; axis < FIELD_AXES && !g->scale[s].by_torus; axis++)
			factorise(&g->scale[s].factor[axis], grid, axis, kernel, scale[s].length[axis]);
	}
}

void field_gauss_release(struct field_gauss *g)
{
	for (int s = 0; s < g->scales; s++) {
		if (g->scale[s].by_torus)
			field_torus_release(&g->scale[s].torus);
		for (int axis = 0; axis < FIELD_AXES; axis++)
			mem_free(g->scale[s].factor[axis].l);
	}
}

/* --- realizations --- */

/* Normal numbers of a scale. */
static int64_t normals_of(const struct field_gauss *g, int s)
{
	const struct field_factor *f = g->scale[s].factor;
	return g->scale[s].by_torus ? field_torus_normals(&g->scale[s].torus) : f[0].rank * f[1].rank;
}

/* Of normal numbers, and either a column of the torus or (rank of y, rank of x) numbers times
 * L_x^T. */
int64_t field_gauss_scratch(const struct field_gauss *g)
{
	int64_t most = 0;
	for (int s = 0; s < g->scales; s++) {
		const struct field_factor *f = g->scale[s].factor;
		const int64_t n = normals_of(g, s) +
			(g->scale[s].by_torus ? 2 * g->scale[s].torus.n[1] : f[1].rank * f[0].n);

		most = n > most ? n : most;
	}
	return most;
}

/* to[i] += by * column[i] */
static void add(double *to, double by, const double *column, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		to[i] += by * column[i];
}

static void add_scale(const struct field_factor *f, double deviation, const double *normal,
                      double *rows, double *out)
{
	const int64_t nx = f[0].n, ny = f[1].n;
	memset(rows, 0, (size_t)(f[1].rank * nx) * sizeof *rows);
	for (int64_t a = 0; a < f[1].rank; a++)
		for (int64_t b = 0; b < f[0].rank; b++)
			add(rows + a * nx, deviation * normal[a * f[0].rank + b], f[0].l + b * nx, nx);
	for (int64_t y = 0; y < ny; y++)
		for (int64_t a = 0; a < f[1].rank; a++)
			add(out + y * nx, f[1].l[a * ny + y], rows + a * nx, nx);
}

void field_gauss_draw(const struct field_gauss *g, uint64_t seed, int64_t number, double *scratch,
                      double *out)
{
	memset(out, 0, (size_t)field_points(g->grid) * sizeof *out);
	for (int s = 0; s < g->scales; s++) {
		const double deviation = g->scale[s].deviation;
		const int64_t n = normals_of(g, s);

		rng_normals(seed, g->scale[s].stream, (uint64_t)number, 0, n, scratch);
		if (g->scale[s].by_torus)
			field_torus_add(&g->scale[s].torus, g->grid, deviation, scratch, scratch + n, out);
		else
			add_scale(g->scale[s].factor, deviation, scratch, scratch + n, out);
	}
}
