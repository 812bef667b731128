/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways in which a GPU makes a convolution with what belongs to it. Which of them is the fastest
 * depends on the shapes and on the library's version: an engine that is compiled for a whole chain
 * saves passes over memory, but may be slower itself than the best one for the convolution alone.
 * So with --wisdom they are measured against each other, as the engines within each of them are. */
#ifndef DLX_OP_CONV_CONV_WAY_H
#define DLX_OP_CONV_CONV_WAY_H

#include "op/lib/cuda.h"

/* In the order of preference where nothing is measured, but for conv_ways.parts. */
enum conv_way {
	CONV_OURS,       /* a kernel of dlx's */
	CONV_WINDOWS,    /* one graph of cuDNN's, which reads and writes windows in their places */
	CONV_WHOLE,      /* one graph of cuDNN's, of packed tensors */
	CONV_PARTS,      /* cuDNN's convolution, and dlx's kernels before and after it */
	CONV_WAYS
};

struct conv_ways {
	/* As kernel.plan, for this way. E_UNSUPPORTED, with or without a reason: it is not there; of
	 * CONV_PARTS it is the node's own error. */
	int (*plan)(struct kplan *k, enum conv_way way, const void *user);
	int (*run)(const struct kplan *k, const struct kargs *a);
	void (*free)(struct kplan *k);
	const void *user;
	bool parts;                  /* those are preferred to one graph of cuDNN's */
};

/* Plans k in the way that wisdom names; if that is not known in the fastest one, which wisdom
 * learns, where it may measure; else in the first that is there. */
int conv_way_plan(struct kplan *k, const struct conv_ways *ways);

#endif
