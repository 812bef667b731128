/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions on the GPU that are made otherwise than by an engine of cuDNN's for them, or a
 * kernel of ours. Tensors are in their places, windows of wider buffers too.
 *
 *   CONV_PRODUCT   windows of single pixels as one matrix product (conv_product_cuda.c)
 *   CONV_PHASES    dilated windows as dense ones of each phase (conv_phases_cuda.c) */
#ifndef DLX_OP_CONV_CONV_OTHER_H
#define DLX_OP_CONV_CONV_OTHER_H

#include "backend/dnn/conv_geom.h"
#include "graph/op.h"
#include "op/conv/conv_way.h"

struct cublas_plan;
struct conv_phases;

struct conv_other {
	const char *name;            /* as the plan's implementation; NULL: nothing is planned */
	struct cublas_plan *product;
	struct conv_phases *phases;  /* in k's arena */
	bool swapped;                /* the node's second input is the product's first */
};

/* The distances from pixel to pixel, in elements: of x, of y, and of what is added to the result,
 * where 0 means nothing. */
struct conv_strides {
	int64_t x, y, addend;
};

/* All tensors are of the type of k's first input. *workspace: 0 before, the bytes that it needs
 * behind. E_UNSUPPORTED with or without a reason: the node is no such convolution. */
int conv_other_plan(struct conv_other *o, struct kplan *k, enum conv_way way, enum conv_kind kind,
                    const struct conv_strides *s, size_t *workspace);
/* arg: k's two inputs and its result, which may be the addend. */
int conv_other_run(const struct conv_other *o, const struct kplan *k, void *const *arg,
                   const void *addend, void *ws);
void conv_other_free(struct conv_other *o);

static inline bool conv_way_is_other(enum conv_way way)
{
	return way == CONV_PRODUCT || way == CONV_PHASES;
}

/* --- of conv_other_plan and its like --- */

int conv_product_plan(struct conv_other *o, struct kplan *k, enum conv_kind kind,
                      const struct conv_strides *s, size_t *workspace);
int conv_product_run(const struct conv_other *o, void *const *arg, const void *addend, void *ws);
int conv_phases_plan(struct conv_other *o, struct kplan *k, enum conv_kind kind,
                     const struct conv_strides *s, size_t *workspace);
int conv_phases_run(const struct conv_other *o, const struct kplan *k, void *const *arg, void *ws);
void conv_phases_free(struct conv_other *o);

#endif
