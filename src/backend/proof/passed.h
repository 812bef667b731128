/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Implementations that are passed over for a problem: those that a proof (backend/proof/proof.h)
 * has found wrong on this machine, or on that of another rank. Kernels that choose among
 * implementations ask here. The list grows between plans alone, and all ranks have the same. */
#ifndef DLX_BACKEND_PROOF_PASSED_H
#define DLX_BACKEND_PROOF_PASSED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct passed {
	uint64_t problem;            /* what is computed, whatever the layouts: a hash */
	const char *impl;            /* "jit:avx512_core", "winograd" */
	const char *fault;           /* "wrong values" */
	const char *text;            /* the problem, for people */
};

/* Adds a copy; nothing if it is there. Not while another thread plans. */
void passed_add(const struct passed *p);
/* Whether impl is passed over. Any thread. Such an entry has been met then (passed_list). */
bool passed_over(uint64_t problem, const char *impl);
/* How many are passed over for the problem. */
int passed_of(uint64_t problem);
int passed_count(void);
const struct passed *passed_at(int i);
/* Whether a choice has met entry i. */
bool passed_met(int i);
/* "conv 2x4x8x8 ...: jit:avx512_core, wrong values" of each entry that a choice has met, sorted,
 * with this text between them; nothing if none was. */
void passed_list(struct buf *out, const char *between);

#endif
