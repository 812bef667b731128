/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions of single pixels (windows of 1, strides of 1, no padding, one group) on the GPU as
 * one matrix product by cuBLASLt: the way CONV_PRODUCT of conv_way.h. */
#ifndef DLX_OP_CONV_CONV_PRODUCT_H
#define DLX_OP_CONV_CONV_PRODUCT_H

#include "backend/dnn/conv_geom.h"
#include "graph/op.h"

struct cublas_plan;

struct conv_product {
	struct cublas_plan *plan;    /* or NULL: no product */
	bool swapped;                /* the node's second input is the product's first */
};

/* The strides are those from pixel to pixel, in elements, of x, of y, and of what is added to the
 * result, 0 for nothing; all tensors are of the type of k's first input. Adds what it needs to
 * *workspace. E_UNSUPPORTED with or without a reason: the node is no
 * such product. cublas_plan_free frees the plan. */
int conv_product_plan(struct conv_product *p, struct kplan *k, enum conv_kind kind,
                      int64_t x_stride, int64_t y_stride, int64_t addend_stride,
                      size_t *workspace);
/* arg: k's two inputs and its result, which may be the addend. */
int conv_product_run(const struct conv_product *p, void *const *arg, const void *addend, void *ws);

#endif
