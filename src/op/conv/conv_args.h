/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Maps the inputs and outputs of a convolution node to the tensors of its geometry. */
#ifndef DLX_OP_CONV_CONV_ARGS_H
#define DLX_OP_CONV_CONV_ARGS_H

#include "backend/dnn/conv_geom.h"
#include "graph/op.h"

/* The position of the geometry's x, w, y and bias in the node: an index into its inputs, or nin
 * plus an index into its outputs. */
struct conv_slots {
	int x, w, y, bias;
};
#define CONV_SUM 3               /* index of the addend among the inputs of conv_grad_input_add */

struct conv_slots conv_slots_of(enum conv_kind kind, const struct node *n);
/* NONE: the node has no such tensor. */
tid conv_tensor_at(const struct node *n, int slot);
bool conv_has_bias(const struct node *n, enum conv_kind kind);
bool conv_has_sum(const struct node *n, enum conv_kind kind);

/* Pointers by the geometry's names; bias and sum may be NULL. */
struct conv_args {
	void *x, *w, *y, *bias, *sum;
};
struct conv_args conv_args_get(enum conv_kind kind, const struct kplan *k, const struct kargs *a);

#endif
