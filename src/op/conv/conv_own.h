/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions on the GPU by dlx's kernels, for shapes where cuDNN's engines are slow: the
 * implementation CONV_OURS of conv_way.h. Each set of kernels is a struct conv_own in a file of its
 * own. */
#ifndef DLX_OP_CONV_CONV_OWN_H
#define DLX_OP_CONV_CONV_OWN_H

#include "backend/dnn/conv_geom.h"
#include "graph/op.h"

struct k_epilogue;

struct conv_own {
	const char *name;            /* implementation name in the plan */
	/* Returns the arguments for run, in k's arena, or NULL if these kernels do not support the
	 * node. All its tensors are channels-last. *workspace: bytes needed; 0 before the call. */
	const void *(*make)(const struct kplan *k, enum conv_kind kind, size_t *workspace);
	/* Operands: x or dx, w or dw, y or dy. They are used in place, also if they are windows of
	 * wider buffers. */
	int (*run)(const struct kplan *k, const void *made, void *x, void *w, void *y, void *ws);
	/* Forward, and gradient to the input: the same from `from` and w, with the epilogue `follows`,
	 * whose rows, c and made are not set. NULL: these kernels compute the convolution only, without
	 * the bias. */
	int (*run_with)(const struct kplan *k, const void *made, void *from, void *w,
	                const struct k_epilogue *follows);
	/* biased: returns whether run_biased supports the arguments from make; NULL: no. run_biased
	 * does what run does, and also adds the bias or computes its gradient. Results that are not
	 * needed are NULL. */
	bool (*biased)(const void *made);
	int (*run_biased)(const struct kplan *k, const void *made, void *x, void *w, void *y,
	                  void *bias, void *ws);
};

/* The tensors of a node in the order x, w, y. */
void conv_own_tensors(const struct kplan *k, enum conv_kind kind, const struct tensor *t[3]);
/* Sets the elements from pixel to pixel. Returns false if the tensor is not made of rows of
 * channels. */
bool conv_own_stride(const struct tensor *t, int64_t *stride);
/* Whether an engine that cuDNN compiles, or a matrix product, can use the tensor in place: in a
 * window of a wider buffer, each pixel must begin at a multiple of 16 bytes. */
bool conv_own_in_place(const struct tensor *t);
/* Reserves bytes of workspace after *end; returns their offset. */
size_t conv_own_reserve(size_t *end, size_t bytes);

extern const struct conv_own conv_depthwise_own, conv_few_own, conv_narrow_own,
	conv_narrow_weights_own;

#endif
