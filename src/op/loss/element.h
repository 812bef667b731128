/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses that are a weighted mean over elements, some of which may be left out (element.c has the
 * formulas): declarations that their kernels share. */
#ifndef DLX_OP_LOSS_ELEMENT_H
#define DLX_OP_LOSS_ELEMENT_H

#include "graph/op.h"

enum element_kind { ELEMENT_SQUARE, ELEMENT_ABSOLUTE, ELEMENT_HUBER, ELEMENT_LOGISTIC };

struct element_attr {
	int kind;                        /* enum element_kind */
	double delta;
	bool skip_nan;
	double skip;                     /* the target value that is left out; NaN: none */
};

/* Targets of the logistic loss that are neither in 0..1 nor left out: their number, and the place
 * (index in memory order) and value of the first one. */
struct bad_targets {
	int64_t count, at;
	float value;
};
/* Returns 0 if there is none; else E_DATA with the layer, the first bad target and its place. */
int bad_targets_report(const struct kplan *k, const struct bad_targets *bad);

/* --- GPU kernels, defined only in a build with CUDA --- */

int element_cuda_plan(struct kplan *k);
int element_cuda(const struct kplan *k, const struct kargs *a);
int element_grad_cuda(const struct kplan *k, const struct kargs *a);
void element_cuda_free(struct kplan *k);

#endif
