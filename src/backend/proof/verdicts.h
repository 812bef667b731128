/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verdicts of proofs on this machine, kept for later runs: a text file in the user's folder for
 * caches, a line each, by the version of oneDNN, the processor, what is used of its instruction
 * set, and this build of dlx; on a GPU by its kind, the driver and, in each problem
 * (struct kernel_choice), the version of the library. Where there is no such folder, they are this
 * process's alone. */
#ifndef DLX_BACKEND_PROOF_VERDICTS_H
#define DLX_BACKEND_PROOF_VERDICTS_H

#include "backend/proof/proof.h"

struct verdicts;

/* Reads what is kept, and passes over what was found wrong here. */
struct verdicts *verdicts_open(const struct device *dev);
void verdicts_free(struct verdicts *v);          /* NULL is fine */
/* Reads what other processes have added since. */
void verdicts_refresh(struct verdicts *v);
/* Whether the kernel of c has been proven, right or wrong. */
bool verdicts_has(const struct verdicts *v, const struct proof_case *c);
/* Adds those of n cases, and what is wrong to those that are passed over; what is not known
 * (PROOF_UNKNOWN), or may be otherwise another time (PROOF_REFUSED), is not kept. Other processes
 * may add to the file at the same time. */
void verdicts_add(struct verdicts *v, const struct proof_case *c, int n,
                  const struct proof_verdict *verdict);

#endif
