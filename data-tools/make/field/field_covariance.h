/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options that say what covariance a Gaussian field has. */
#ifndef DLX_DATA_TOOLS_FIELD_COVARIANCE_H
#define DLX_DATA_TOOLS_FIELD_COVARIANCE_H

#include "base/option.h"
#include "data-tools/make/field/field_gauss.h"

struct field_covariance {
	const char *kernel, *length, *variance;
	double mean;
};
#define COVARIANCE_DEFAULTS { "squared-exponential", "0.2", "1", 0 }

/* Rows for a member of this type at `at`. */
#define COVARIANCE_OPTIONS(at, length_doc, variance_doc, mean_doc)                              \
	{ "kernel", 0, OPTION_CHOICE, (at) + offsetof(struct field_covariance, kernel), KERNEL_CHOICE, \
	  .doc = "default: squared-exponential" },                                                  \
	{ "length", 0, OPTION_TEXT, (at) + offsetof(struct field_covariance, length), "L[:LY],...", \
	  .doc = length_doc },                                                                      \
	{ "variance", 0, OPTION_TEXT, (at) + offsetof(struct field_covariance, variance), "V,...",  \
	  .doc = variance_doc },                                                                    \
	{ "mean", 0, OPTION_FLOAT, (at) + offsetof(struct field_covariance, mean), "M",             \
	  .doc = mean_doc }

/* Reads length and variance, and checks the mean: E_USAGE. of_logarithm: the field is exp of the
 * Gaussian one, and has to be finite. One variance is divided among the scales. */
int field_covariance_check(const struct field_covariance *c, int axes, bool of_logarithm);
/* field_gauss_init with these, which were checked. Warns where a covariance is not positive. */
void field_covariance_init(const struct field_covariance *c, struct field_gauss *g,
                           const char *name, const struct field_grid *grid);

#endif
