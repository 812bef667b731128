/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element-wise ops on the CPU in float64: their reference on pieces, by all threads. So an op has
 * no formula for it besides the reference's. Where that calls a function of libm that loops do not
 * vectorise, the op may have a row in the table of walk_double.c, with a vector form. */
#ifndef DLX_OP_LIB_WALK_DOUBLE_H
#define DLX_OP_LIB_WALK_DOUBLE_H

#include "graph/op.h"

#define WALK_DOUBLE(reference)                                           \
	[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = reference },     \
	[BACKEND_DOUBLE] = { .layouts = KL_PLAIN, .plan = walk_double_plan,  \
	                     .run = walk_double }

/* Of the inputs those that have as many elements as out[0] go by pieces, others are whole. */
int walk_double_plan(struct kplan *k);
int walk_double(const struct kplan *k, const struct kargs *a);

#endif
