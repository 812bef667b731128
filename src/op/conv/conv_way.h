/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The implementations of a convolution and its epilogue on a GPU. Which is fastest depends on the
 * shapes and on cuDNN's version: an engine that cuDNN compiles for a whole chain saves passes over
 * memory, but may itself be slower than the best engine for the convolution only. So with --wisdom
 * the implementations are measured against each other, like the engines within each of them. */
#ifndef DLX_OP_CONV_CONV_WAY_H
#define DLX_OP_CONV_CONV_WAY_H

#include "op/lib/cuda.h"

/* In the order of preference if nothing is measured, except that conv_ways.parts moves CONV_PARTS
 * forward. */
enum conv_way {
	CONV_OURS,       /* a kernel of dlx's */
	CONV_WINDOWS,    /* one cuDNN graph, which reads and writes windows of wider buffers in place */
	CONV_WHOLE,      /* one cuDNN graph, of packed tensors */
	CONV_PARTS,      /* a convolution of cuDNN, with dlx's kernels before and after it */
	CONV_WAYS
};

struct conv_ways {
	/* Like kernel.plan, for this implementation. E_UNSUPPORTED, with or without a message: it does
	 * not support the node; for CONV_PARTS that is an error of the node itself. */
	int (*plan)(struct kplan *k, enum conv_way way, const void *user);
	int (*run)(const struct kplan *k, const struct kargs *a);
	void (*free)(struct kplan *k);
	const void *user;
	bool parts;                  /* CONV_PARTS is preferred to one cuDNN graph */
};

/* Plans k with the implementation that the wisdom names. If it names none: with the fastest one,
 * which wisdom records, if measurements are allowed; else with the first that supports the node. */
int conv_way_plan(struct kplan *k, const struct conv_ways *ways);

#endif
