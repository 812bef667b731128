/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass that gives every tensor its element type. */
#ifndef DLX_OP_PRECISION_H
#define DLX_OP_PRECISION_H

#include "graph/pass.h"

/* On the reference device all floats become F64. On others what is computed in 16 bits, if env->dev
 * does so, is what lies on a way to a kernel that is faster in it (enum kernel_bf16), within forward
 * and within backward; `cast` nodes stand where types meet. Params, their gradients, states, losses
 * and the update stay f32. */
int pass_precision(struct graph *g, struct pass_env *env);

#endif
