/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of implementations that must not be used for a problem, because a proof
 * (backend/proof/proof.h) found them wrong on this machine or on that of another rank. Kernels
 * query it when they choose an implementation. The list grows only between plans and is the same on
 * all ranks. */
#ifndef DLX_BACKEND_PROOF_PASSED_H
#define DLX_BACKEND_PROOF_PASSED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct passed {
	uint64_t problem;            /* a hash of the computation, the same for all layouts */
	const char *impl;            /* "jit:avx512_core", "winograd" */
	const char *fault;           /* "wrong values" */
	const char *text;            /* the problem in words, for messages */
};

/* Adds a copy of *p unless the list has it already. Must not be called while another thread
 * plans. */
void passed_add(const struct passed *p);
/* Whether impl must not be used for the problem. If so, its entry counts as met (passed_met). Any
 * thread. */
bool passed_over(uint64_t problem, const char *impl);
/* The number of implementations that must not be used for the problem. */
int passed_of(uint64_t problem);
int passed_count(void);
const struct passed *passed_at(int i);
/* Whether passed_over has returned true for entry i. */
bool passed_met(int i);
/* Appends "conv 2x4x8x8 ...: jit:avx512_core, wrong values" for each entry that was met, sorted and
 * separated by the text `between`. */
void passed_list(struct buf *out, const char *between);

#endif
