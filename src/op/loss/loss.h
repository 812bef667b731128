/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of the loss over labels, for code that emits it: above all the divisor of its sum
 * (loss.c has the formulas). */
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
	double nominal;              /* with the gradient: divisor, the planned weight of a batch, as in
	                              * mean.h */
	bool sum;
};

#endif
