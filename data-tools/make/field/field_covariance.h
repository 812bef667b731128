/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options for the covariance of a Gaussian field. */
#ifndef DLX_DATA_TOOLS_FIELD_COVARIANCE_H
#define DLX_DATA_TOOLS_FIELD_COVARIANCE_H

#include "base/option.h"
#include "data-tools/make/field/field_gauss.h"

struct field_covariance {
	const char *kernel, *length, *variance;
	double mean;
};
#define COVARIANCE_DEFAULTS { "squared-exponential", "0.2", "1", 0 }

/* Option rows for a struct field_covariance at offset `at`. */
#define COVARIANCE_OPTIONS(at, length_doc, variance_doc, mean_doc)                              \
	{ "kernel", 0, OPTION_CHOICE, (at) + offsetof(struct field_covariance, kernel), KERNEL_CHOICE, \
	  .doc = "default: squared-exponential" },                                                  \
	{ "length", 0, OPTION_TEXT, (at) + offsetof(struct field_covariance, length), "L[:LY],...", \
	  .doc = length_doc },                                                                      \
	{ "variance", 0, OPTION_TEXT, (at) + offsetof(struct field_covariance, variance), "V,...",  \
	  .doc = variance_doc },                                                                    \
	{ "mean", 0, OPTION_FLOAT, (at) + offsetof(struct field_covariance, mean), "M",             \
	  .doc = mean_doc }

/* Checks length, variance and mean. E_USAGE. of_logarithm: the field is exp of the Gaussian one,
 * which must be finite. A single variance is divided among the scales. */
int field_covariance_check(const struct field_covariance *c, int axes, bool of_logarithm);
/* Calls field_gauss_init with these options, which must have been checked. Warns if a covariance is
 * not positive. */
void field_covariance_init(const struct field_covariance *c, struct field_gauss *g,
                           const char *name, const struct field_grid *grid);

#endif
