/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulated faults of a kernel under proof, to test the proofs: DLX_DEBUG=spoil=KIND:IMPL. */
#ifndef DLX_BACKEND_PROOF_PROOF_SPOIL_H
#define DLX_BACKEND_PROOF_PROOF_SPOIL_H

#include "base/types.h"

/* Where a fault can be written after a run of the kernel. */
struct proof_spoilt {
	enum dtype type;
	char *last;                  /* the last element of the first result */
	char *after;                 /* the byte after that result */
	char *before;                /* the byte before the workspace */
};

/* Whether DLX_DEBUG=spoil names this implementation. */
bool proof_spoils(const char *impl);
/* Writes the fault. run: 0: the first run; 1: the second; 2: the run on one thread. */
void proof_spoil(const struct proof_spoilt *at, int run);

#endif
