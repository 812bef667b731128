/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ops that draw random numbers take the input "random_key": three I64 values, the run's seed, the
 * step and the place of the batch's first sample among all samples of the step, on all ranks and in
 * all micro-batches, written by the host before each batch. A number is a function of the key, of
 * the stream (hash_name(node name at build time), kept in the op's attributes), of the sample's
 * place and of the element's place in the sample, so results depend on neither layout, thread nor
 * rank. */
#ifndef DLX_OP_LIB_RANDOM_H
#define DLX_OP_LIB_RANDOM_H

#include "graph/graph.h"

#define RANDOM_KEY "random_key"
#define RANDOM_KEY_VALUES 3
/* The random_key input of g, made on first use. */
int random_key(struct graph *g, tid *out);

#endif
