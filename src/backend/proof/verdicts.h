/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verdicts of proofs on this machine, stored for later runs in a text file in the user's cache
 * folder, one per line. The key is the version of oneDNN, the processor, the instruction set in use
 * and this build of dlx; for a GPU its model, the driver and (within kernel_choice.problem) the
 * version of the library. Without a cache folder the verdicts last as long as the process. */
#ifndef DLX_BACKEND_PROOF_VERDICTS_H
#define DLX_BACKEND_PROOF_VERDICTS_H

#include "backend/proof/proof.h"

struct verdicts;

/* Reads the file, and adds the implementations that are wrong to the list of
 * backend/proof/passed.h. */
struct verdicts *verdicts_open(const struct device *dev);
void verdicts_free(struct verdicts *v);          /* NULL is fine */
/* Reads the lines that other processes have added since. */
void verdicts_refresh(struct verdicts *v);
/* Whether there is a verdict for c, right or wrong. */
bool verdicts_has(const struct verdicts *v, const struct proof_case *c);
/* Adds the verdicts of n cases to the file, and the wrong implementations to the list of
 * backend/proof/passed.h. PROOF_UNKNOWN and PROOF_REFUSED, which may differ the next time, are not
 * stored. Other processes may add to the file at the same time. */
void verdicts_add(struct verdicts *v, const struct proof_case *c, int n,
                  const struct proof_verdict *verdict);

#endif
