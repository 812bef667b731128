/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gaussian fields of two axes by circulant embedding. The grid is embedded in a torus, so large
 * that the distance of two grid points is not shorter around the torus. On a torus, plane waves are
 * the eigenvectors of a covariance that depends only on the distance. */
#ifndef DLX_DATA_TOOLS_FIELD_TORUS_H
#define DLX_DATA_TOOLS_FIELD_TORUS_H

#include "data-tools/make/field/field_fft.h"
#include "data-tools/make/field/field_grid.h"

struct field_torus {
	int64_t n[FIELD_AXES];        /* number of points of the torus along each axis */
	struct field_fft fft[FIELD_AXES];
	double *root;                 /* square roots of the eigenvalues divided by the number of
	                               * points: (y, x) */
	double clipped;               /* the negative eigenvalues' share of the sum of all magnitudes */
};

/* Prepares the torus for correlation(arg, dx, dy). It is enlarged, up to eight times and 2^24
 * points, until no eigenvalue is negative. Remaining negative eigenvalues are set to 0 and the
 * others are scaled down, so that the variance is 1. */
void field_torus_init(struct field_torus *t, const struct field_grid *g,
                      double (*correlation)(const void *arg, double dx, double dy),
                      const void *arg);
void field_torus_release(struct field_torus *t);
/* field_torus_normals returns the number of normal numbers that a realization needs.
 * field_torus_add adds the realization's values, times `by`, to out. It overwrites the normal
 * numbers; column is scratch memory of 2 n[1] values. */
int64_t field_torus_normals(const struct field_torus *t);
void field_torus_add(const struct field_torus *t, const struct field_grid *g, double by,
                     double *normals, double *column, double *out);

#endif
