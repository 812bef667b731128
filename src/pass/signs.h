/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signs of activations, as bits (op/norm/norm.h). */
#ifndef DLX_PASS_SIGNS_H
#define DLX_PASS_SIGNS_H

#include "pass/pass.h"

/* For GPUs; others keep their graph. */
int pass_signs(struct graph *g, struct pass_env *env);

#endif
