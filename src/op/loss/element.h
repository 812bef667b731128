/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A loss that is a mean over elements of which not all count, or count alike (element.c has the
 * formulas): what its kernels have in common. */
#ifndef DLX_OP_LOSS_ELEMENT_H
#define DLX_OP_LOSS_ELEMENT_H

#include "graph/op.h"

enum element_kind { ELEMENT_SQUARE, ELEMENT_ABSOLUTE, ELEMENT_HUBER, ELEMENT_LOGISTIC };

struct element_attr {
	int kind;                        /* enum element_kind */
	double delta;
	bool skip_nan;
	double skip;                     /* NaN: none */
};

/* Targets of the logistic loss that are neither in 0..1 nor left out: how many, and of the first
 * its place in the tensor as stored, and its value. */
struct bad_targets {
	int64_t count, at;
	float value;
};
/* 0, or E_DATA that names the layer, the first of them and its place. */
int bad_targets_report(const struct kplan *k, const struct bad_targets *bad);

/* --- on the GPU; there only in a build with CUDA --- */

int element_cuda_plan(struct kplan *k);
int element_cuda(const struct kplan *k, const struct kargs *a);
int element_grad_cuda(const struct kplan *k, const struct kargs *a);
void element_cuda_free(struct kplan *k);

#endif
