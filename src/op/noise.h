/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An op that generates random numbers. */
#ifndef DLX_OP_NOISE_H
#define DLX_OP_NOISE_H

#include "graph/graph.h"

enum noise_kind { NOISE_NORMAL, NOISE_UNIFORM };

/* Emits a node that gives f32 random numbers of shape s. Each row along the first axis is a
 * realization; a row is the same on all ranks for the same stream (a hash_name) and the same place
 * of the row in the step. */
int noise_emit(struct graph *g, enum noise_kind kind, const struct shape *s, int64_t stream,
               tid *out);

#endif
