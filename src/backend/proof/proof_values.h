/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares picked elements of a kernel's result, some of them at borders, with the values that
 * op.expect computes. */
#ifndef DLX_BACKEND_PROOF_PROOF_VALUES_H
#define DLX_BACKEND_PROOF_PROOF_VALUES_H

#include "backend/proof/proof.h"

/* The inputs and results of one run of a kernel under proof. */
struct proof_made {
	const struct proof_case *c;
	const struct graph *g;
	const struct node *n;
	void *const *in;             /* the inputs, in host memory */
	/* Reads the element of result o at this offset. */
	int (*element)(void *user, int o, int64_t at, double *value);
	void *user;
};

/* Compares, and updates the counts in *v; sets v->fault to PROOF_VALUE on an error, unless it has a
 * fault already. */
int proof_values_check(const struct proof_made *m, struct proof_verdict *v);

#endif
