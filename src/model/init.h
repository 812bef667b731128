/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Initial values of weights, as a bound or a standard deviation. The values themselves are drawn
 * where parameters are stored. */
#ifndef DLX_MODEL_INIT_H
#define DLX_MODEL_INIT_H

#include "model/nn.h"

/* value: the constant of WI_CONSTANT, a gain for the others (0: 1). */
struct init init_weight(enum weight_init kind, double value, const struct shape *weight);
struct init init_constant(double value);

#endif
