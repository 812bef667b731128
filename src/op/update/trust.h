/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of the ops from which optimizers build LARS, LARC and LAMB. */
#ifndef DLX_OP_UPDATE_TRUST_H
#define DLX_OP_UPDATE_TRUST_H

#include "yaml/schema.h"

struct norms_attr {
	struct floats decay;
};
struct trust_ratio_attr {
	double eta, eps, least, zero;    /* zero: the ratio if a norm is 0; NaN: no special case */
	bool clip, by_rate;
	struct floats decay, rate_factor;
	struct ints layer;
};

#endif
