/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operand numbers of a convolution and its epilogue, for kernels that serve all fused forms. */
#ifndef DLX_OP_CONV_CONV_FUSED_H
#define DLX_OP_CONV_CONV_FUSED_H

#include "backend/cuda/cudnn.h"
#include "backend/dnn/conv_geom.h"
#include "graph/op.h"
#include "op/conv/conv.h"

struct conv_fused {
	struct conv_attr conv;
	double slope, eps;           /* where the op has them */
};

/* result = act((convolution + bias) normalised + addend). Indices of inputs, which may be absent;
 * 0: the op has none. */
struct conv_places {
	enum conv_kind kind;
	int gamma, beta, mean, variance;
	int addend, mask;
	bool relu;
};
enum { CONV_BIAS_AT = 2 };

/* The tensor of this operand, or NONE. */
static inline tid conv_fused_input(const struct node *n, int i)
{
	return i > 0 && i < n->nin ? n->in[i] : NONE;
}

/* Whether the library is to be asked for more than the convolution: not for groups, for which it
 * has generic code only. (DLX_DEBUG=skip=chains is cudnn_conv_new's.) */
bool conv_fused_cuda_wanted(const struct cudnn_conv *c);
int conv_fused_cuda_plan(struct kplan *k, const struct conv_places *at);
int conv_fused_cuda_run(const struct kplan *k, const struct kargs *a);
void conv_fused_cuda_free(struct kplan *k);

#endif
