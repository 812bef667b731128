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
/* Params and states that the plan adds to the store. */
int64_t plan_memory_values(const struct plan *p, const struct store *store);
/* Inputs and constants, which exec_bind makes room for; staged: NULL, or a sum to which the host's
 * copies of them are added. */
int64_t plan_memory_inputs(const struct plan *p, int64_t *staged);

#endif
