/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Depthwise convolutions on the GPU by our kernels (cuda/k_depthwise.cu). Declared in every build,
 * there only in one with CUDA. */
#ifndef DLX_OP_CONV_CONV_DEPTHWISE_CUDA_H
#define DLX_OP_CONV_CONV_DEPTHWISE_CUDA_H

#include "backend/dnn/conv_geom.h"
#include "graph/op.h"

/* What a node is to them; its tensors are known to be channels-last. */
struct conv_depthwise;

/* NULL if cuDNN is to take it: a window of other than 3 x 3, several channels a group, results of
 * another type than what is read (but for the weights' gradient), or DLX_DEBUG=depthwise=no. In k's
 * arena. *workspace: bytes. */
const struct conv_depthwise *conv_depthwise_cuda_new(const struct kplan *k, enum conv_kind kind,
                                                     size_t *workspace);
/* x or dx, w or dw, y or dy; without the bias. */
int conv_depthwise_cuda_run(const struct kplan *k, const struct conv_depthwise *d, void *x, void *w,
                            void *y, void *ws);

#endif
