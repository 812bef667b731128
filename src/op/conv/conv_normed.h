/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions that read z = f(norm(x)) where x alone is in memory, and the gradient to their
 * weights (made by the pass `prologue`): inputs 3 to 6 are the norm's gamma, beta, mean and 1 /
 * deviation, for each channel of x, which is input 0. Input 2, a convolution's bias, is absent. f
 * multiplies what is below zero by the attribute `slope` (0: relu, 1: none); conv_statistics has
 * relu alone. */
#ifndef DLX_OP_CONV_CONV_NORMED_H
#define DLX_OP_CONV_CONV_NORMED_H

#include "backend/cuda/cudnn.h"
#include "graph/op.h"
#include "op/conv/conv_fused.h"
#include "op/conv/conv_way.h"

enum { NORMED_GAMMA = 3, NORMED_BETA, NORMED_MEAN, NORMED_RSTD, NORMED_INPUTS };

static inline bool conv_normed(const struct node *n)
{
	return n->nin > NORMED_GAMMA;
}

#define NORMED_SLOPE \
	FIELD_FLOAT(struct conv_fused, slope, "0", 0, 1e6, "factor for negative values")
static inline double conv_normed_slope(const struct node *n)
{
	return ((const struct conv_fused *)n->attr)->slope;
}

/* Checks the shapes of input x and of the vectors that begin at input `first`. */
int conv_normed_shape(struct graph *g, struct node *n, int x, int first);

/* Reference kernels find z in the workspace, for which this books it. */
int conv_normed_reference_plan(struct kplan *k);
const double *conv_normed_reference(const struct kplan *k, const struct kargs *a);

/* How a GPU makes a node, and its kernel's state: norm_conv.c, conv_norm_grad.c. */
struct conv_normed_cuda {
	struct cudnn_plan *plan;
	const void *own;             /* instead: the arguments of dlx's kernels, or NULL; */
	size_t own_ws;               /* and the workspace that they take */
	bool whole;                  /* what belongs to the norm is cuDNN's too */
	enum dtype type;             /* in which cuDNN computes */
	struct layout_rows x;
	size_t vectors, made, room;  /* in the workspace: vectors, or room for sums; the result, if it
	                              * is of another type; z, which gradients to x have not */
};
/* Depthwise convolutions of z by dlx's kernels (conv_depthwise_cuda.c), which read x
 * alone: whether they take one of this shape, in 16 bits. */
bool conv_depthwise_normed(const struct device *d, const struct conv_geom *c);
/* As conv_own.make, for a node with a norm. */
const void *conv_depthwise_make_normed(const struct kplan *k, enum conv_kind kind,
                                       size_t *workspace);
/* Where all is; w is the gradient where that is made. Of the gradient to the input, dz: x is where
 * it goes, `of` the norm's input; dgamma or dbeta may be NULL. */
struct conv_normed_args {
	void *x, *w, *y, *ws;
	const float *gamma, *beta, *mean, *rstd;
	double slope;
	void *of;
	int64_t of_stride;           /* from pixel to pixel, in elements */
	float *dgamma, *dbeta;
};
int conv_depthwise_run_normed(const struct kplan *k, const void *made,
                              const struct conv_normed_args *a);

/* Plans the engine of this way, or E_UNSUPPORTED. c: all but the types. x: the norm's input. */
int conv_normed_cuda_plan(struct kplan *k, struct conv_normed_cuda *s, enum conv_way way,
                          struct cudnn_conv *c, const struct tensor *x);
void conv_normed_cuda_free(struct kplan *k);
/* without: what the name says where not the whole is the engine's. */
void conv_normed_cuda_name(struct kplan *k, const char *without);
/* Converts the engine's result, in `made`, to the type of the node's result. */
int conv_normed_cuda_deliver(const struct kplan *k, void *made, void *to);
/* Bytes of a float32 vector over the channels, and of a packed tensor in the engine's type. */
size_t conv_normed_cuda_vector(const struct conv_normed_cuda *s);
size_t conv_normed_cuda_dense(const struct conv_normed_cuda *s, const struct shape *of);

/* The convolution of `c`, which may have more around it already, with what the norm adds.
 * E_UNSUPPORTED: there is no engine that is recommended, or none is wanted
 * (conv_fused_cuda_wanted). */
int conv_normed_cuda_engine(struct cudnn_plan **out, const struct device *d, struct wisdom *wisdom,
                            const struct cudnn_conv *c);
/* Bytes of each of the two vectors, which follow one another in the workspace; room for the
 * norm's own as well. */
size_t conv_normed_cuda_room(const struct kplan *k);
/* For that engine: scale and shift. */
int conv_normed_cuda_vectors(const struct kplan *k, const struct kargs *a, enum dtype type,
                             void *scale, void *shift);
/* Without it: z, packed. */
int conv_normed_cuda_apply(const struct kplan *k, const struct kargs *a, void *z, void *room);

#endif
