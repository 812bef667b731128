/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random inputs of any size that take only a few megabytes of physical memory: a block of random
 * pages is mapped repeatedly. The number of pages in a block is prime and differs between inputs,
 * so that no stride of a tensor is a multiple of it, and products of two inputs do not repeat. */
#ifndef DLX_BACKEND_PROOF_PROOF_PATTERN_H
#define DLX_BACKEND_PROOF_PROOF_PATTERN_H

#include "base/types.h"

struct proof_pattern {
	char *p;                     /* `bytes` bytes, read-only */
	size_t bytes;
	size_t period;               /* bytes after which the content repeats; `bytes` if it does not
	                              * repeat */
};

/* *out must be zero. number: index of the input. */
int proof_pattern_make(struct proof_pattern *out, enum dtype t, size_t bytes, int number);
void proof_pattern_free(struct proof_pattern *p);

#endif
