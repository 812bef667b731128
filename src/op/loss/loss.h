/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The divisor of the sum of a loss over labels (loss.c has
 * the formulas), for code that emits it. */
#ifndef DLX_OP_LOSS_LOSS_H
#define DLX_OP_LOSS_LOSS_H

#include <stdbool.h>
#include <stdint.h>

enum loss_reduction { LOSS_MEAN, LOSS_MEAN_PIXELS, LOSS_SUM };
extern const char *const loss_reduction_names[];

struct loss_attr {
	int64_t ignore;
	int reduction;               /* enum loss_reduction */
	double scale, gamma, smoothing;
	double nominal;              /* with the gradient: what the batch's weight
	                              * is divided by, as in mean.h */
	bool sum;
};

#endif
