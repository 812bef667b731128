/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The buffers of a proof: filling them, poisoning them, and what can be seen in them. */
#ifndef DLX_BACKEND_PROOF_PROOF_MEMORY_H
#define DLX_BACKEND_PROOF_PROOF_MEMORY_H

#include <stdbool.h>

#include "graph/graph.h"

/* Bytes from the first element to the last, padding and what lies between pixels of a slice
 * included. */
size_t proof_memory_bytes(const struct tensor *x);
/* Random numbers in all of it, the largest of which is proof_memory_largest of its type; padding is
 * 0. x is f32, bf16 or fp16. */
void proof_memory_fill(const struct tensor *x, void *p, uint64_t seed);
void proof_memory_random(enum dtype t, void *p, int64_t n, uint64_t seed);
/* 1; of fp16 less, whose sums of many products would not be finite. */
double proof_memory_largest(enum dtype t);
void proof_memory_poison(char *p, size_t n, int byte);
bool proof_memory_is(const char *p, size_t n, int byte);

struct proof_seen {
	bool finite;                 /* every element of it */
	bool padding_zero;
	bool gaps_written;           /* between the pixels of a slice */
	uint64_t hash;               /* of the elements' bits */
};
/* byte: what p was poisoned with. */
void proof_memory_see(struct proof_seen *out, const struct tensor *x, const void *p, int byte);

#endif
