/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of conv, conv_grad_input and conv_grad_weight, for code that emits them. One struct
 * serves all three: a gradient rule copies it and sets the members that its op needs. Lists have
 * one entry, or one for each spatial axis, and live in the graph's arena (ints_make). An empty list
 * and groups 0 mean the default. */
#ifndef DLX_OP_CONV_CONV_H
#define DLX_OP_CONV_CONV_H

#include "yaml/schema.h"

struct conv_attr {
	struct ints stride, dilation;        /* default 1; dilation 1 is a dense window */
	struct ints pad_lo, pad_hi;          /* default 0: zeros added before and after each axis */
	int64_t groups;                      /* default 1 */
	struct ints input_size;              /* conv_grad_input: spatial size of its result */
	struct ints kernel;                  /* conv_grad_weight: spatial size of the weights */
	bool bias;                           /* conv_grad_weight: compute the gradient to the bias,
	                                      * too */
};

#endif
