/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the reductions of all backends share. */
#ifndef DLX_OP_REDUCE_H
#define DLX_OP_REDUCE_H

#include "op/lib/nest.h"

/* Divides the axes of input 0 into kept and summed ones. y is the result, or a tensor of its shape,
 * and has the kept axes. */
void reduce_nests(const struct kplan *k, tid y, struct nest *kept, struct nest *summed);

/* The GPU's kernels; defined only in a build with CUDA. */
int sum_cuda_plan(struct kplan *k);
int mean_cuda_plan(struct kplan *k);
int max_cuda_plan(struct kplan *k);
int reduce_cuda(const struct kplan *k, const struct kargs *a);
int max_grad_cuda_plan(struct kplan *k);
int max_grad_cuda(const struct kplan *k, const struct kargs *a);

#endif
