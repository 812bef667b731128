/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass that has convolutions give the statistics of what they make. */
#ifndef DLX_OP_MOMENTS_H
#define DLX_OP_MOMENTS_H

#include "graph/pass.h"

/* On GPUs: conv, and batch_norm (or batch_norm_relu) that reads its result, become conv_statistics
 * and batch_norm_again. Behind what settles whose batch the statistics are of. */
int pass_moments(struct graph *g, struct pass_env *env);

#endif
