/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Test samples (struct op) of convolutions and their gradients. */
#ifndef DLX_OP_CONV_CONV_SAMPLES_H
#define DLX_OP_CONV_CONV_SAMPLES_H

extern const char *const conv_samples[], *const conv_grad_input_samples[],
	*const conv_grad_input_add_samples[], *const conv_grad_weight_samples[];

#endif
