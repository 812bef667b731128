/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of the other ways makes a convolution. */
#include "op/conv/conv_other.h"

#include "backend/cuda/cublas.h"

#ifdef HAVE_CUDA

int conv_other_plan(struct conv_other *o, struct kplan *k, enum conv_way way, enum conv_kind kind,
                    const struct conv_strides *s, size_t *workspace)
{
	return way == CONV_PRODUCT ? conv_product_plan(o, k, kind, s, workspace) :
	       conv_phases_plan(o, k, kind, s, workspace);
}

int conv_other_run(const struct conv_other *o, const struct kplan *k, void *const *arg,
                   const void *addend, void *ws)
{
	return o->product ? conv_product_run(o, arg, addend, ws) : conv_phases_run(o, k, arg, ws);
}

void conv_other_free(struct conv_other *o)
{
	cublas_plan_free(o->product);
	if (o->phases)
		conv_phases_free(o);
}

#endif
