/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of conv, conv_grad_input and conv_grad_weight on the GPU. */
#ifndef DLX_OP_CONV_CONV_CUDA_H
#define DLX_OP_CONV_CONV_CUDA_H

#include "op/lib/cuda.h"

struct cudnn;
struct cudnn_conv;
struct cudnn_plan;
struct wisdom;

int conv_cuda_plan(struct kplan *k);
int conv_grad_input_cuda_plan(struct kplan *k);
int conv_grad_weight_cuda_plan(struct kplan *k);
int conv_cuda_run(const struct kplan *k, const struct kargs *a);        /* all three */
void conv_cuda_free(struct kplan *k);

/* Whether out[i] is made in 16 bits, where the inputs have them, whatever type it has: the gradient
 * of the weights. It is not where the convolution has groups: a kernel of dlx's adds that gradient
 * up in float32. */
bool conv_makes_narrow(const struct node *n, int i);

/* A forward convolution and what follows it, of tensors in their places, by an engine that cuDNN
 * recommends. *out stays NULL where there is none, or one that takes as much workspace as the
 * copies of `saved` bytes that it is to save: cuDNN's precompiled engines make them themselves. */
int conv_cuda_windows(struct cudnn_plan **out, const struct cudnn *library, struct wisdom *w,
                      const struct cudnn_conv *v, size_t saved);

/* in_, out_: which inputs and outputs may be windows; more: further members. */
#define CONV_CUDA(name, in_, out_, ...)                                                 \
	CUDA_KERNEL(.layouts = KL_NATIVE, .plan = name##_cuda_plan, .run = conv_cuda_run,   \
	            .free = conv_cuda_free,                                                 \
	            .slice_in = in_, .slice_out = out_, .bf16_in = 3, .bf16_out = 1,            \
	            .bf16 = KB_FASTER, __VA_ARGS__)

#endif
