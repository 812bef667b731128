/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers as a node. */
#ifndef DLX_OP_NOISE_H
#define DLX_OP_NOISE_H

#include "graph/graph.h"

enum noise_kind { NOISE_NORMAL, NOISE_UNIFORM };

/* Emits the node: f32 of this shape, whose rows, along the first axis, are realizations: the same
 * on all ranks for the same place of the row in the step and the same stream (a hash_name). */
int noise_emit(struct graph *g, enum noise_kind kind, const struct shape *s, int64_t stream,
               tid *out);

#endif
