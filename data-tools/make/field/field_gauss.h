/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gaussian random fields on a grid. The covariance is a sum over scales of a variance times a
 * correlation. If a correlation in two dimensions is the product of one for each axis, like
 * KERNEL_SQUARED_EXPONENTIAL, each axis has its own Cholesky factor, and values are L_y Z L_x^T
 * with Z independent normal numbers. Other fields in two dimensions are drawn by circulant
 * embedding (field_torus.h). */
#ifndef DLX_DATA_TOOLS_FIELD_GAUSS_H
#define DLX_DATA_TOOLS_FIELD_GAUSS_H

#include "data-tools/make/field/field_grid.h"
#include "data-tools/make/field/field_torus.h"

/* The correlation of two points at distance d, for a correlation length l. In two dimensions d / l
 * is the root of the sum of the axes' (d / l)^2. */
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

/* The factor L of the correlation matrix L L^T of an axis' points, by a pivoted Cholesky
 * decomposition that ends when the remainder is rounding error. l[j * n + i] is element i of column
 * j. */
struct field_factor {
	int64_t n, rank;
	double *l;
};

struct field_gauss {
	const struct field_grid *grid;
	int scales;
	struct {
		double deviation;
		uint64_t stream;               /* stream of random numbers */
		bool by_torus;
		struct field_torus torus;
		struct field_factor factor[FIELD_AXES];
	} scale[FIELD_SCALES];
};

/* Prepares a field. name: that of the field, by which random numbers are chosen. grid is
 * borrowed. */
void field_gauss_init(struct field_gauss *g, const char *name, const struct field_grid *grid,
                      enum field_kernel kernel, int scales, const struct field_scale *scale);
void field_gauss_release(struct field_gauss *g);
/* The number of scratch values that a realization needs. */
int64_t field_gauss_scratch(const struct field_gauss *g);
/* Draws realization `number`, with mean 0. It depends on no other realization. */
void field_gauss_draw(const struct field_gauss *g, uint64_t seed, int64_t number, double *scratch,
                      double *out);

#endif
