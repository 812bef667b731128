/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which input or output of a convolution node is which tensor of its geometry. */
#ifndef DLX_OP_CONV_CONV_ARGS_H
#define DLX_OP_CONV_CONV_ARGS_H

#include "backend/dnn/conv_geom.h"
#include "graph/op.h"

/* Where a node keeps what the geometry calls x, w, y and bias: an index into its inputs and, from
 * nin on, its outputs. */
struct conv_slots {
	int x, w, y, bias;
};
#define CONV_SUM 3               /* the input that conv_grad_input_add adds */

struct conv_slots conv_slots_of(enum conv_kind kind, const struct node *n);
/* NONE: the node has no such tensor. */
tid conv_tensor_at(const struct node *n, int slot);
bool conv_has_bias(const struct node *n, enum conv_kind kind);
bool conv_has_sum(const struct node *n, enum conv_kind kind);

/* Arguments by the geometry's names; bias, sum NULL: none. */
struct conv_args {
	void *x, *w, *y, *bias, *sum;
};
struct conv_args conv_args_get(enum conv_kind kind, const struct kplan *k, const struct kargs *a);

#endif
