/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Indices of the operands of a convolution and its epilogue, for kernels that serve all fused
 * forms. */
#ifndef DLX_OP_CONV_CONV_FUSED_H
#define DLX_OP_CONV_CONV_FUSED_H

#include "backend/cuda/cudnn.h"
#include "backend/dnn/conv_geom.h"
#include "graph/op.h"
#include "op/conv/conv.h"

struct conv_fused {
	struct conv_attr conv;
	double slope, eps;           /* for ops that have them */
};

/* result = act((convolution + bias) normalised + addend). The members are indices of inputs; an
 * input may be absent, and 0 means that the op has no such input. */
struct conv_places {
	enum conv_kind kind;
	int gamma, beta, mean, variance;
	int addend, mask;
	bool relu;
};
enum { CONV_BIAS_AT = 2 };

/* The tensor of operand i, or NONE. */
static inline tid conv_fused_input(const struct node *n, int i)
{
	return i > 0 && i < n->nin ? n->in[i] : NONE;
}

/* Whether to try cuDNN engines that compute more than the convolution. Not for groups, for which
 * cuDNN only has generic code. (cudnn_conv_new handles DLX_DEBUG=skip=chains.) */
bool conv_fused_cuda_wanted(const struct cudnn_conv *c);
int conv_fused_cuda_plan(struct kplan *k, const struct conv_places *at);
int conv_fused_cuda_run(const struct kplan *k, const struct kargs *a);
void conv_fused_cuda_free(struct kplan *k);

#endif
