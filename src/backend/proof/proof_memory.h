/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The buffers of a proof: filling with random numbers, poisoning with a pattern, and inspecting the
 * result. */
#ifndef DLX_BACKEND_PROOF_PROOF_MEMORY_H
#define DLX_BACKEND_PROOF_PROOF_MEMORY_H

#include <stdbool.h>

#include "graph/graph.h"

/* Bytes from the first element to the last, including padding and, for a slice, the other channels
 * between its pixels. */
size_t proof_memory_bytes(const struct tensor *x);
/* Fills x's buffer with random numbers of magnitude up to proof_memory_largest, and padding with 0.
 * x is f32, bf16 or fp16. */
void proof_memory_fill(const struct tensor *x, void *p, uint64_t seed);
void proof_memory_random(enum dtype t, void *p, int64_t n, uint64_t seed);
/* 1; less for fp16, where sums of many products would overflow. */
double proof_memory_largest(enum dtype t);
void proof_memory_poison(char *p, size_t n, int byte);
bool proof_memory_is(const char *p, size_t n, int byte);

struct proof_seen {
	bool finite;                 /* every element is finite */
	bool padding_zero;
	bool gaps_written;           /* bytes between the pixels of a slice were written */
	uint64_t hash;               /* of the elements' bits */
};
/* byte: what p was poisoned with. */
void proof_memory_see(struct proof_seen *out, const struct tensor *x, const void *p, int byte);

#endif
