/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass that fuses batch statistics into the convolution before a batch norm. */
#ifndef DLX_PASS_MOMENTS_H
#define DLX_PASS_MOMENTS_H

#include "pass/pass.h"

/* On GPUs: conv, and batch_norm (or batch_norm_relu) that reads its result, become conv_statistics
 * and batch_norm_again. Runs after pass `statistics`, which replaces norms over several ranks. */
int pass_moments(struct graph *g, struct pass_env *env);

#endif
