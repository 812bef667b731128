/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The GPU kernels of conv, conv_grad_input and conv_grad_weight. */
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

/* Whether output i is computed in 16 bits if the inputs are 16-bit, whatever its own type is. That
 * holds for the gradient to the weights, unless the convolution has groups: dlx's kernel for those
 * adds the gradient up in float32. */
bool conv_makes_narrow(const struct node *n, int i);

/* Plans a forward convolution and its epilogue by an engine that cuDNN recommends and that reads
 * and writes tensors in place. saved: bytes of the copies that this avoids. *out stays NULL if
 * there is no such engine, or if its workspace is not smaller than `saved` (cuDNN's precompiled
 * engines make the copies themselves). */
int conv_cuda_windows(struct cudnn_plan **out, const struct cudnn *library, struct wisdom *w,
                      const struct cudnn_conv *v, size_t saved);

/* in_, out_: masks of inputs and outputs that may be windows of wider buffers; more: further
 * members of the record. */
#define CONV_CUDA(name, in_, out_, ...)                                                 \
	CUDA_KERNEL(.layouts = KL_NATIVE, .plan = name##_cuda_plan, .run = conv_cuda_run,   \
	            .free = conv_cuda_free,                                                 \
	            .slice_in = in_, .slice_out = out_, .bf16_in = 3, .bf16_out = 1,            \
	            .bf16 = KB_FASTER, __VA_ARGS__)

#endif
