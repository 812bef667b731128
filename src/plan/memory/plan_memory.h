/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of a plan, by use. */
#ifndef DLX_PLAN_PLAN_MEMORY_H
#define DLX_PLAN_PLAN_MEMORY_H

#include "plan/session.h"

/* In bytes. activations, gradients and workspace are those in use at the node where they need the
 * most memory. */
struct plan_memory {
	int64_t parameters, optimizer, gradients, activations, workspace;
	int64_t inputs;
	int64_t peak;              /* the sum of all members */
};
void plan_memory(const struct plan *p, struct plan_memory *m);
/* Bytes of the parameters and states that the plan would add to the store. */
int64_t plan_memory_values(const struct plan *p, const struct store *store);
/* Bytes of the inputs and constants, which exec_bind allocates. staged: NULL, or a sum to which the
 * bytes of their copies in host memory are added. */
int64_t plan_memory_inputs(const struct plan *p, int64_t *staged);
/* Bytes of the messages between the ranks of a sample, and of the sums over these, that s needs for
 * a plan like p for n samples; 0 without parallel.spatial. */
int64_t plan_memory_messages(const struct session *s, const struct plan *p, int64_t n);

#endif
