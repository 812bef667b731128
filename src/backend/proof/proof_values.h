/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Picked elements of what a kernel made, at borders among them, against what its op expects. */
#ifndef DLX_BACKEND_PROOF_PROOF_VALUES_H
#define DLX_BACKEND_PROOF_PROOF_VALUES_H

#include "backend/proof/proof.h"

/* What a kernel made of the case. */
struct proof_made {
	const struct proof_case *c;
	const struct graph *g;
	const struct node *n;
	void *const *in;             /* in the host's memory */
	/* The element of result o at this offset. */
	int (*element)(void *user, int o, int64_t at, double *value);
	void *user;
};

/* Counts into v, whose fault becomes PROOF_VALUE if it has none yet. */
int proof_values_check(const struct proof_made *m, struct proof_verdict *v);

#endif
