/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The uses of a plan's memory. */
#ifndef DLX_PLAN_PLAN_MEMORY_H
#define DLX_PLAN_PLAN_MEMORY_H

#include "plan/plan.h"

/* In bytes. activations, gradients and workspace are what is alive at the fullest node. */
struct plan_memory {
	int64_t parameters, optimizer, gradients, activations, workspace;
	int64_t inputs;
	int64_t peak;              /* everything together */
};
void plan_memory(const struct plan *p, struct plan_memory *m);

#endif
