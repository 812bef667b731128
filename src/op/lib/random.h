/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ops that draw random numbers take the input "random_key": three I64 values that the host writes
 * before each batch. They are the run's seed, the step, and the place of the batch's first sample
 * among all samples of the step (of all ranks and micro-batches). A random number is a function of
 * the key, of the stream (hash_name(node name at build time), in the op's attributes), of the
 * sample's place in the step and of the element's place in the sample. So results do not depend on
 * the layout, the threads or the ranks. */
#ifndef DLX_OP_LIB_RANDOM_H
#define DLX_OP_LIB_RANDOM_H

#include "graph/graph.h"

#define RANDOM_KEY "random_key"
#define RANDOM_KEY_VALUES 3
/* The random_key input of g; the first call makes it. */
int random_key(struct graph *g, tid *out);

#endif
