/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Helpers for op files with GPU kernels. An op's record names its kernel by CUDA_KERNEL, which
 * expands to nothing in a build without CUDA. The code is in the op's file between #ifdef HAVE_CUDA
 * and #endif or, if it is long, in a file of its own (NAME_cuda.c). A run function takes device
 * pointers, calls launchers of cuda/kernels.h on cuda_stream(k->dev), and returns cuda_launched(k,
 * status). Its launches may be captured once in a CUDA graph and replayed in every step: arguments
 * passed by value must not change from step to step, and the function must not wait, allocate, or
 * read the device's memory. */
#ifndef DLX_OP_LIB_CUDA_H
#define DLX_OP_LIB_CUDA_H

#include "backend/cuda/cuda.h"
#include "graph/op.h"

#ifdef HAVE_CUDA
#include "cuda/kernels.h"
#define NOWHERE SIZE_MAX         /* an offset in the workspace: the buffer does not exist */
#define CUDA_KERNEL(...) [BACKEND_CUDA] = { __VA_ARGS__ },

/* The element types of an input and of an output, as launchers expect them. */
static inline int cuda_in_type(const struct kplan *k, int i)
{
	return (int)graph_t(k->g, k->n->in[i])->dtype;
}

static inline int cuda_out_type(const struct kplan *k, int i)
{
	return (int)graph_t(k->g, k->n->out[i])->dtype;
}

/* Element-wise kernels accept views. Their plan is cuda_walk_plan, which stores the strides in
 * k->state; cuda_walk returns the walk over out[0] and the inputs that have its shape. */
int cuda_walk_plan(struct kplan *k);
struct k_walk cuda_walk(const struct kplan *k);
#define CUDA_VIEWS .plan = cuda_walk_plan, .slice_in = ~0u, .slice_out = ~0u, \
	.takes_slice = walk_takes_slice

/* Run functions of element-wise ops: they compute out[0] from in[0] (and in[1]), which are of one
 * type and layout. */
#define CUDA_UNARY(name, code, a_, b_)                                                             \
	static int name(const struct kplan *k, const struct kargs *a)                                  \
	{                                                                                              \
		const struct k_walk w = cuda_walk(k);                                                      \
		return cuda_launched(k,                                                                    \
		                     k_unary(cuda_stream(k->dev), code, cuda_out_type(k, 0), &w, a_, b_,   \
		                                a->in[0], a->out[0]));                                     \
	}
#define CUDA_BINARY(name, code, a_)                                                                \
	static int name(const struct kplan *k, const struct kargs *a)                                  \
	{                                                                                              \
		const struct k_walk w = cuda_walk(k);                                                      \
		return cuda_launched(k, k_binary(cuda_stream(k->dev), code, cuda_out_type(k, 0), &w, a_,   \
		                                 a->in[0], a->in[1], a->out[0]));                          \
	}
#else
#define CUDA_KERNEL(...)
#endif
#endif
