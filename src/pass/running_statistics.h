/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Running statistics of all norms at once. */
#ifndef DLX_PASS_RUNNING_STATISTICS_H
#define DLX_PASS_RUNNING_STATISTICS_H

#include "pass/pass.h"

/* For GPUs; others keep their graph. */
int pass_running_statistics(struct graph *g, struct pass_env *env);

#endif
