/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random inputs of any size in few megabytes of the host's memory: they repeat, after a number of
 * pages that is prime and is another one for each input, so that no stride of a tensor is a
 * multiple of it and products of two inputs do not repeat with it. */
#ifndef DLX_BACKEND_PROOF_PROOF_PATTERN_H
#define DLX_BACKEND_PROOF_PROOF_PATTERN_H

#include "base/types.h"

struct proof_pattern {
	char *p;                     /* `bytes` of them, not to be written */
	size_t bytes;
	size_t period;               /* what repeats; bytes, if nothing does */
};

/* Zero beforehand. number: of the input. */
int proof_pattern_make(struct proof_pattern *out, enum dtype t, size_t bytes, int number);
void proof_pattern_free(struct proof_pattern *p);

#endif
