/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gaussian random fields on a grid, whose covariance is a sum over scales of a variance times a
 * correlation. Where in two dimensions this is the product of those of the axes, as that of
 * KERNEL_SQUARED_EXPONENTIAL is, each axis has a factor of its own: values are L_y Z L_x^T, with Z
 * independent normal numbers. Other fields of two dimensions are drawn on a torus. */
#ifndef DLX_DATA_TOOLS_FIELD_GAUSS_H
#define DLX_DATA_TOOLS_FIELD_GAUSS_H

#include "data-tools/make/field/field_grid.h"
#include "data-tools/make/field/field_torus.h"

/* Correlation of two places a distance d apart, for a length l. In two dimensions d / l is the root
 * of the sum of the squares of the axes' own. */
enum field_kernel {
	KERNEL_SQUARED_EXPONENTIAL,    /* exp(-(d / l)^2) */
	KERNEL_EXPONENTIAL,            /* exp(-d / l) */
	KERNEL_MATERN_3,               /* of nu = 3/2: (1 + s) exp(-s), s = sqrt(3) d / l */
	KERNEL_MATERN_5                /* of nu = 5/2: (1 + s + s^2 / 3) exp(-s), s = sqrt(5) d / l */
};
#define KERNEL_CHOICE "squared-exponential|exponential|matern-3/2|matern-5/2"
double field_correlation(enum field_kernel kernel, double distance_by_length);
/* One of KERNEL_CHOICE. */
enum field_kernel field_kernel_find(const char *name);

struct field_scale {
	double variance, length[FIELD_AXES];
};
#define FIELD_SCALES 8

/* The correlation of an axis' points as L L^T, by Cholesky with pivots that ends where what is
 * left is rounding: l[j * n + i] is column j, at point i. */
struct field_factor {
	int64_t n, rank;
	double *l;
};

struct field_gauss {
	const struct field_grid *grid;
	int scales;
	struct {
		double deviation;
		uint64_t stream;               /* of its random numbers */
		bool by_torus;
		struct field_torus torus;
		struct field_factor factor[FIELD_AXES];
	} scale[FIELD_SCALES];
};

/* name: the field's, another one has other values. grid is borrowed. */
void field_gauss_init(struct field_gauss *g, const char *name, const struct field_grid *grid,
                      enum field_kernel kernel, int scales, const struct field_scale *scale);
void field_gauss_release(struct field_gauss *g);
/* How many values of scratch a realization takes. */
int64_t field_gauss_scratch(const struct field_gauss *g);
/* The values of a realization, of mean 0, which depend on its number and not on others. */
void field_gauss_draw(const struct field_gauss *g, uint64_t seed, int64_t number, double *scratch,
                      double *out);

#endif
