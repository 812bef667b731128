/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ops that draw random numbers take the input "random_key": two I64 values, the run's seed and the number of the
 * (micro-)step, written by the host before each step. Element i of a node draws rng_u32(seed, stream, step, i) with i the row-major
 * logical index and stream = hash_name(node name at build time), kept in the op's attributes, so results depend on neither layout nor thread. */
#ifndef DLX_OP_RANDOM_H
#define DLX_OP_RANDOM_H

#include "graph/graph.h"

#define RANDOM_KEY "random_key"
/* The random_key input of g, made on first use. */
int random_key(struct graph *g, tid *out);

#endif
