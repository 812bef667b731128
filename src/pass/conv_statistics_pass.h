/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass that fuses batch statistics into the convolution before a batch norm. */
#ifndef DLX_PASS_CONV_STATISTICS_PASS_H
#define DLX_PASS_CONV_STATISTICS_PASS_H

#include "pass/pass.h"

/* On GPUs: conv, and batch_norm that reads its result, become conv_statistics and batch_norm_apply.
 * Runs after pass `statistics`, since norms over several ranks stay. */
int pass_conv_statistics(struct graph *g, struct pass_env *env);

#endif
