/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element-wise ops on the CPU in float64. The op's reference kernel runs on pieces of the tensors,
 * on all threads, so the op needs no second formula. If the reference calls a libm function that
 * compilers do not vectorize, the op may have a vectorized version in the table of
 * walk_double.c. */
#ifndef DLX_OP_LIB_WALK_DOUBLE_H
#define DLX_OP_LIB_WALK_DOUBLE_H

#include "graph/op.h"

#define WALK_DOUBLE(reference)                                           \
	[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = reference },     \
	[BACKEND_DOUBLE] = { .layouts = KL_PLAIN, .plan = walk_double_plan,  \
	                     .run = walk_double }

/* Inputs with as many elements as out[0] are divided into the same pieces; the reference gets all
 * other inputs whole. */
int walk_double_plan(struct kplan *k);
int walk_double(const struct kplan *k, const struct kargs *a);

#endif
