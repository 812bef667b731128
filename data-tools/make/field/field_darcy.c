/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The preconditioner is the modified incomplete Cholesky factorisation without fill-in
 * (Gustafsson 1978): with it the number of iterations grows with the root of n, not with n. */
#include "data-tools/make/field/field_darcy.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define TOLERANCE 1e-12           /* of the residual, in parts of the right-hand side */
#define MODIFIED 0.97             /* of the fill-in that is dropped, this goes to the diagonal */
#define LEAST_PIVOT 0.25          /* in parts of the diagonal: below, the factor is not modified */

void darcy_init(struct darcy *d)
{
	const size_t cells = (size_t)(d->n * d->n);
	double **const part[] = { &d->east, &d->north, &d->diagonal, &d->pivot, &d->r, &d->z, &d->p,
		&d->q };
	d->memory = mem_calloc(8 * cells, sizeof(double));
	for (int i = 0; i < 8; i++)
		*part[i] = d->memory + (size_t)i * cells;
}

void darcy_release(struct darcy *d)
{
	mem_free(d->memory);
}

/* --- the system --- */

/* A cell's face on the edge; h: the side of a cell. Half a cell lies between its middle and it. */
static void add_edge(struct darcy *d, const struct darcy_condition *c, int64_t cell, double k,
                     double h)
{
	if (c->flux) {
		d->r[cell] += h * c->value;
		return;
	}
	d->diagonal[cell] += 2 * k;
	d->r[cell] += 2 * k * c->value;
}

static void join(struct darcy *d, int64_t a, int64_t b, const double *k, double *face)
{
	*face = 2 * k[a] * k[b] / (k[a] + k[b]);
	d->diagonal[a] += *face;
	d->diagonal[b] += *face;
}

static void assemble(struct darcy *d, const double *k, const double *f)
{
	const int64_t n = d->n;
	const double h = 1 / (double)n;
	memset(d->east, 0, (size_t)(3 * n * n) * sizeof *d->east);
	for (int64_t i = 0; i < n * n; i++)
		d->r[i] = h * h * f[i];
	for (int64_t i = 0; i < n * n; i++) {
		if (i % n < n - 1)
			join(d, i, i + 1, k, &d->east[i]);
		if (i / n < n - 1)
			join(d, i, i + n, k, &d->north[i]);
	}
	for (int64_t i = 0; i < n; i++) {
		add_edge(d, &d->edge[DARCY_LEFT], i * n, k[i * n], h);
		add_edge(d, &d->edge[DARCY_RIGHT], i * n + n - 1, k[i * n + n - 1], h);
		add_edge(d, &d->edge[DARCY_BOTTOM], i, k[i], h);
		add_edge(d, &d->edge[DARCY_TOP], (n - 1) * n + i, k[(n - 1) * n + i], h);
	}
}

void darcy_apply(const struct darcy *d, const double *v, double *to)
{
	const int64_t n = d->n, cells = n * n;
	for (int64_t i = 0; i < cells; i++) {
		double sum = d->diagonal[i] * v[i];

		sum -= i % n < n - 1 ? d->east[i] * v[i + 1] : 0;
		sum -= i % n > 0 ? d->east[i - 1] * v[i - 1] : 0;
		sum -= i < cells - n ? d->north[i] * v[i + n] : 0;
		sum -= i >= n ? d->north[i - n] * v[i - n] : 0;
		to[i] = sum;
	}
}

/* --- the preconditioner --- */

/* pivot: the inverse of the factor's diagonal. */
static void factorise(struct darcy *d)
{
	const int64_t n = d->n;
	for (int64_t i = 0; i < n * n; i++) {
		const double west = i % n ? d->east[i - 1] * d->pivot[i - 1] : 0;
		const double south = i >= n ? d->north[i - n] * d->pivot[i - n] : 0;
		double left = d->diagonal[i] - west * west - south * south;

		if (i % n)
			left -= MODIFIED * west * d->north[i - 1] * d->pivot[i - 1];
		if (i >= n)
			left -= MODIFIED * south * d->east[i - n] * d->pivot[i - n];
		if (left < LEAST_PIVOT * d->diagonal[i])
			left = d->diagonal[i];
		d->pivot[i] = 1 / sqrt(left);
	}
}

/* z of the factor L and the residual: L L^T z = r */
static void precondition(struct darcy *d)
{
	const int64_t n = d->n, cells = n * n;
	double *z = d->z;
	for (int64_t i = 0; i < cells; i++) {
		const double west = i % n ? d->east[i - 1] * d->pivot[i - 1] * z[i - 1] : 0;
		const double south = i >= n ? d->north[i - n] * d->pivot[i - n] * z[i - n] : 0;

		z[i] = (d->r[i] + west + south) * d->pivot[i];
	}
	for (int64_t i = cells - 1; i >= 0; i--) {
		const double east = i % n < n - 1 ? d->east[i] * d->pivot[i] * z[i + 1] : 0;
		const double north = i < cells - n ? d->north[i] * d->pivot[i] * z[i + n] : 0;

		z[i] = (z[i] + east + north) * d->pivot[i];
	}
}

/* --- conjugate gradients --- */

static double dot(const double *a, const double *b, int64_t n)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* An iteration; rho: r z. */
static void iterate(struct darcy *d, double *u, double *rho)
{
	const int64_t cells = d->n * d->n;
	darcy_apply(d, d->p, d->q);
	const double alpha = *rho / dot(d->p, d->q, cells), before = *rho;
	for (int64_t i = 0; i < cells; i++) {
		u[i] += alpha * d->p[i];
		d->r[i] -= alpha * d->q[i];
	}
	precondition(d);
	*rho = dot(d->r, d->z, cells);
	for (int64_t i = 0; i < cells; i++)
		d->p[i] = d->z[i] + *rho / before * d->p[i];
}

int darcy_solve(struct darcy *d, const double *k, const double *f, double *u)
{
	const int64_t cells = d->n * d->n, most = 1000 + 20 * d->n;
	assemble(d, k, f);
	factorise(d);
	memset(u, 0, (size_t)cells * sizeof *u);
	precondition(d);
	memcpy(d->p, d->z, (size_t)cells * sizeof *u);
	const double goal = TOLERANCE * TOLERANCE * dot(d->r, d->r, cells);
	double rho = dot(d->r, d->z, cells);
	for (int64_t i = 0; !(dot(d->r, d->r, cells) <= goal); i++) {
		if (i == most)
			return ERR(E_DATA, NULL, "conjugate gradients have not come to a residual of %g in "
			           "%lld iterations; expected permeabilities with less contrast", TOLERANCE,
			           (long long)most);
		iterate(d, u, &rho);
	}
	return 0;
}
