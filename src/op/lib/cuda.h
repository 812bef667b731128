/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What op files need for their kernels on the GPU. A record names them by CUDA_KERNEL, which is
 * nothing in a build without CUDA; the code itself is in the file's cuda region, between #ifdef
 * HAVE_CUDA and #endif, or in a file of its own (NAME_cuda.c) where it is long. Such a run function
 * takes pointers of the device, calls one or more launchers of cuda/kernels.h on
 * cuda_stream(k->dev) and returns cuda_launched(k, status). It may be captured once and launched
 * for ever: what it passes by value must not differ from step to step, and it must not wait,
 * allocate or look at the device's memory. */
#ifndef DLX_OP_LIB_CUDA_H
#define DLX_OP_LIB_CUDA_H

#include "backend/cuda/cuda.h"
#include "graph/op.h"

#ifdef HAVE_CUDA
#include "cuda/kernels.h"
#define NOWHERE SIZE_MAX         /* an offset in the workspace: not there */
#define CUDA_KERNEL(...) [BACKEND_CUDA] = { __VA_ARGS__ },

/* The element type of an input, an output, as the launchers take it. */
static inline int cuda_in_type(const struct kplan *k, int i)
{
	return (int)graph_t(k->g, k->n->in[i])->dtype;
}

static inline int cuda_out_type(const struct kplan *k, int i)
{
	return (int)graph_t(k->g, k->n->out[i])->dtype;
}

/* Element-wise kernels take views: their plan is cuda_walk_plan, which leaves the strides in
 * k->state, and cuda_walk gives the walk over the inputs of out[0]'s shape and out[0]. */
int cuda_walk_plan(struct kplan *k);
struct k_walk cuda_walk(const struct kplan *k);
#define CUDA_VIEWS .plan = cuda_walk_plan, .slice_in = ~0u, .slice_out = ~0u, \
	.takes_slice = walk_takes_slice

/* Run functions of element-wise ops: out[0] from in[0] (and in[1]), all of one type and layout. */
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
