/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of the ops that write state, for the optimizers and layers that emit them. */
#ifndef DLX_OP_UPDATE_H
#define DLX_OP_UPDATE_H

#include <stdbool.h>

struct sgd_attr {
	double momentum;
	bool nesterov;
	double weight_decay;
	bool decoupled;              /* decay the weights themselves rather than the gradient */
};
struct adam_attr {
	double beta1, beta2, eps;
	double weight_decay;
	bool decoupled;
};
struct ema_update_attr {
	double momentum;             /* share of the new value */
	double factor;              /* multiplies the new value: n / (n - 1) for an unbiased variance */
};
struct clip_factor_attr {
	double max_norm;
};

#endif
