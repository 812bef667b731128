/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions whose input is z = f(norm(x)) but which read x, so that z is never in memory, and
 * the gradient to their weights. The pass `prologue` makes them. Input 0 is x; inputs 3 to 6 are
 * the norm's gamma, beta, mean and 1 / deviation, one value for each channel of x. Input 2, a
 * convolution's bias, is absent. f multiplies negative values by the attribute `slope` (0: ReLU, 1:
 * identity); conv_statistics supports ReLU only. */
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

/* Checks the shapes of input x and of the norm's vectors, the first of which is input `first`. */
int conv_normed_shape(struct graph *g, struct node *n, int x, int first);

/* Reference kernels compute z in the workspace: the plan function reserves room for it. */
int conv_normed_reference_plan(struct kplan *k);
const double *conv_normed_reference(const struct kplan *k, const struct kargs *a);

/* The implementation of such a node on a GPU, and its kernel's state (norm_conv.c,
 * conv_norm_grad.c). */
struct conv_normed_cuda {
	struct cudnn_plan *plan;
	const void *own;             /* arguments of dlx's own kernels, used instead of `plan`; or
	                              * NULL */
	size_t own_ws;               /* bytes of the workspace of dlx's own kernels */
	bool whole;                  /* cuDNN's engine computes the norm, too */
	enum dtype type;             /* type in which cuDNN computes */
	struct layout_rows x;
	size_t vectors, made, room;  /* offsets in the workspace: of vectors or sums; of the result, if
	                              * the engine's type differs; of z, which the gradient to x does
	                              * not need */
};
/* Depthwise convolutions of z by dlx's kernels (conv_depthwise_cuda.c), which read only x: whether
 * they support this shape in 16 bits. */
bool conv_depthwise_normed(const struct device *d, const struct conv_geom *c);
/* Like conv_own.make, for a node with a norm. */
const void *conv_depthwise_make_normed(const struct kplan *k, enum conv_kind kind,
                                       size_t *workspace);
/* The operands. w is the gradient if that is computed. For the gradient to the input, x is the
 * output dz, and `of` the norm's input; dgamma and dbeta may be NULL. */
struct conv_normed_args {
	void *x, *w, *y, *ws;
	const float *gamma, *beta, *mean, *rstd;
	double slope;
	void *of;
	int64_t of_stride;           /* elements from pixel to pixel of `of` */
	float *dgamma, *dbeta;
};
int conv_depthwise_run_normed(const struct kplan *k, const void *made,
                              const struct conv_normed_args *a);

/* Plans an engine of implementation `way`, or returns E_UNSUPPORTED. c: everything but the types.
 * x: the norm's input. */
int conv_normed_cuda_plan(struct kplan *k, struct conv_normed_cuda *s, enum conv_way way,
                          struct cudnn_conv *c, const struct tensor *x);
void conv_normed_cuda_free(struct kplan *k);
/* without: the text that the kernel's name gets if the engine does not compute everything. */
void conv_normed_cuda_name(struct kplan *k, const char *without);
/* Converts the engine's result, in `made`, to the type of the node's result. */
int conv_normed_cuda_deliver(const struct kplan *k, void *made, void *to);
/* Bytes of a float32 vector over the channels, and of a packed tensor of the engine's type. */
size_t conv_normed_cuda_vector(const struct conv_normed_cuda *s);
size_t conv_normed_cuda_dense(const struct conv_normed_cuda *s, const struct shape *of);

/* Plans the convolution `c`, which may already have an epilogue, with the norm before it.
 * E_UNSUPPORTED: cuDNN recommends no such engine, or conv_fused_cuda_wanted is false. */
int conv_normed_cuda_engine(struct cudnn_plan **out, const struct device *d, struct wisdom *wisdom,
                            const struct cudnn_conv *c);
/* Bytes of each of the two vectors scale and shift, which are adjacent in the workspace; the space
 * also suffices for the norm's own vectors. */
size_t conv_normed_cuda_room(const struct kplan *k);
/* Computes scale and shift for an engine that applies the norm. */
int conv_normed_cuda_vectors(const struct kplan *k, const struct kargs *a, enum dtype type,
                             void *scale, void *shift);
/* For an engine that does not apply the norm: computes z, packed. */
int conv_normed_cuda_apply(const struct kplan *k, const struct kargs *a, void *z, void *room);

#endif
