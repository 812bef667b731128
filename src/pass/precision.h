/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass that gives every tensor its element type. */
#ifndef DLX_PASS_PRECISION_H
#define DLX_PASS_PRECISION_H

#include "pass/pass.h"

/* On the reference device, and on a CPU in float64, all floats become F64; there an op
 * without a kernel is refused. On others, if env->plan->compute has 16 bits, the
 * tensors on a way to a kernel that is faster in 16 bits (enum kernel_bf16) have 16 bits, within
 * forward and within backward; `cast` nodes convert. Params, their gradients, states, losses and
 * the update stay f32. */
int pass_precision(struct graph *g, struct pass_env *env);

#endif
