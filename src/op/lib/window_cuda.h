/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pooling on the GPU. Declared in every build, defined only in one with CUDA. */
#ifndef DLX_OP_LIB_WINDOW_CUDA_H
#define DLX_OP_LIB_WINDOW_CUDA_H

#include "op/lib/window.h"

/* Like window_plan and window_plan_grad, which they call. */
int window_cuda_plan(struct kplan *k);
int window_cuda_plan_grad(struct kplan *k);
/* Fails if the grid has more pixels than the kernels can index. */
int window_cuda_check(const struct kplan *k, const struct grid *g);

int max_pool_cuda(const struct kplan *k, const struct kargs *a);
int max_pool_grad_cuda(const struct kplan *k, const struct kargs *a);
int max_pool_gather_cuda(const struct kplan *k, const struct kargs *a);
int average_pool_cuda(const struct kplan *k, const struct kargs *a);
int average_pool_grad_cuda(const struct kplan *k, const struct kargs *a);

#endif
