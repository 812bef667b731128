/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gaussian fields of two axes by circulant embedding: on a torus that holds the grid, and is so
 * long that distances within the grid are not shorter around it, waves are the eigenvectors of a
 * covariance that depends on the distance. */
#ifndef DLX_DATA_TOOLS_FIELD_TORUS_H
#define DLX_DATA_TOOLS_FIELD_TORUS_H

#include "data-tools/make/field/field_fft.h"
#include "data-tools/make/field/field_grid.h"

struct field_torus {
	int64_t n[FIELD_AXES];        /* its points */
	struct field_fft fft[FIELD_AXES];
	double *root;                 /* of each eigenvalue over the number of points: (y, x) */
	double clipped;               /* what eigenvalues below 0 are of the sum of magnitudes */
};

/* correlation(arg, dx, dy). The torus is made longer, up to eight times and 2^24 points, until no
 * eigenvalue is below 0; those that are still below it are 0, and the others less by as much, so
 * that the variance is 1. */
void field_torus_init(struct field_torus *t, const struct field_grid *g,
                      double (*correlation)(const void *arg, double dx, double dy),
                      const void *arg);
void field_torus_release(struct field_torus *t);
/* How many normal numbers a realization takes; they are overwritten, and column (2 n[1] values) is
 * scratch. Adds the realization's values times `by` to out. */
int64_t field_torus_normals(const struct field_torus *t);
void field_torus_add(const struct field_torus *t, const struct field_grid *g, double by,
                     double *normals, double *column, double *out);

#endif
