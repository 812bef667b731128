/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults that a test puts into a kernel while it is proven, DLX_DEBUG=spoil=KIND:IMPL. */
#ifndef DLX_BACKEND_PROOF_PROOF_SPOIL_H
#define DLX_BACKEND_PROOF_PROOF_SPOIL_H

#include "base/types.h"

/* Where a fault can be put, after a run of the kernel. */
struct proof_spoilt {
	enum dtype type;
	char *last;                  /* the last element of the first result */
	char *after;                 /* the byte after that result */
	char *before;                /* the byte before the workspace */
};

/* Whether a fault is wanted of kernels of this name. */
bool proof_spoils(const char *impl);
/* Puts it in. run: 0, 1 for the second time, 2 for that on one thread. */
void proof_spoil(const struct proof_spoilt *at, int run);

#endif
