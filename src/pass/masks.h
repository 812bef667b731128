/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the gradient of a ReLU reads for its mask. */
#ifndef DLX_PASS_MASKS_H
#define DLX_PASS_MASKS_H

#include "pass/pass.h"

/* The order of nodes is final but for what is computed again. */
int pass_masks(struct graph *g, struct pass_env *env);

#endif
