/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of conv, conv_grad_input and conv_grad_weight on the GPU. */
#ifndef DLX_OP_CONV_CONV_CUDA_H
#define DLX_OP_CONV_CONV_CUDA_H

#include "op/lib/cuda.h"

int conv_cuda_plan(struct kplan *k);
int conv_grad_input_cuda_plan(struct kplan *k);
int conv_grad_weight_cuda_plan(struct kplan *k);
int conv_cuda_run(const struct kplan *k, const struct kargs *a);        /* all three */
void conv_cuda_free(struct kplan *k);

/* in_, out_: which inputs and outputs may be windows. */
#define CONV_CUDA(name, in_, out_)                                                      \
	CUDA_KERNEL(.layouts = KL_NATIVE, .plan = name##_cuda_plan, .run = conv_cuda_run,   \
	            .free = conv_cuda_free,                                                 \
	            .slice_in = in_, .slice_out = out_, .bf16_in = 3, .bf16_out = 1, .bf16 = KB_FASTER)

#endif
