/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions on the GPU by dlx's kernels, where cuDNN's engines are slow: the way CONV_OURS of
 * conv_way.h. Each set of kernels is a struct conv_own in a file of its own. */
#ifndef DLX_OP_CONV_CONV_OWN_H
#define DLX_OP_CONV_CONV_OWN_H

#include "backend/dnn/conv_geom.h"
#include "graph/op.h"

struct k_epilogue;

struct conv_own {
	const char *name;            /* as the plan's implementation */
	/* What run needs, in k's arena, or NULL if these kernels do not take the node, whose tensors
	 * are known to be channels-last. *workspace: bytes, 0 before. */
	const void *(*make)(const struct kplan *k, enum conv_kind kind, size_t *workspace);
	/* x or dx, w or dw, y or dy, all where they are: windows of wider buffers in their places. */
	int (*run)(const struct kplan *k, const void *made, void *x, void *w, void *y, void *ws);
	/* Forward, and to the input: the same of `from` and w, with what follows. Of it are rows, c and
	 * made not set. NULL: these kernels do the convolution alone, and the bias is not theirs. */
	int (*run_with)(const struct kplan *k, const void *made, void *from, void *w,
	                const struct k_epilogue *follows);
	/* NULL, or whether run_biased does for what make gave as run does, and adds the bias, or makes
	 * its gradient. What is not asked for is NULL. */
	bool (*biased)(const void *made);
	int (*run_biased)(const struct kplan *k, const void *made, void *x, void *w, void *y,
	                  void *bias, void *ws);
};

/* The tensors of a node in the order x, w, y. */
void conv_own_tensors(const struct kplan *k, enum conv_kind kind, const struct tensor *t[3]);
/* The distance of two pixels in elements. False: the tensor is not rows of channels. */
bool conv_own_stride(const struct tensor *t, int64_t *stride);
/* Whether an engine that cuDNN compiles, or a matrix product, can read or write a tensor where it
 * is: a window of a wider buffer has to begin at a multiple of 16 bytes in each pixel. */
bool conv_own_in_place(const struct tensor *t);
/* Room after *end of the workspace: where it begins. */
size_t conv_own_reserve(size_t *end, size_t bytes);

extern const struct conv_own conv_depthwise_own, conv_few_own, conv_narrow_own,
	conv_narrow_weights_own;

#endif
