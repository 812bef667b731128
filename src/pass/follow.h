/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Running statistics of all norms at once. */
#ifndef DLX_PASS_FOLLOW_H
#define DLX_PASS_FOLLOW_H

#include "pass/pass.h"

/* For GPUs; others keep their graph. */
int pass_follow(struct graph *g, struct pass_env *env);

#endif
