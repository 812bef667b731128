/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The optimizers' updates: declarations that their kernels on all backends share. */
#ifndef DLX_OP_UPDATE_DESCENT_H
#define DLX_OP_UPDATE_DESCENT_H

#include "op/update/bundle.h"

/* How the node groups its tensors. */
struct bundle_form sgd_form(const struct node *n);
struct bundle_form adam_form(const struct node *n);
struct bundle_form rmsprop_form(const struct node *n);

/* The bundle form of an optimizer's node n. False if n is another op, or outputs directions instead
 * of weights. */
bool descent_form(const struct node *n, struct bundle_form *f);

/* The GPU's kernels; defined only in a build with CUDA. */
bool sgd_takes_narrow(const struct node *n, int i);
int sgd_cuda_plan(struct kplan *k);
int sgd_cuda(const struct kplan *k, const struct kargs *a);
bool adam_takes_narrow(const struct node *n, int i);
int adam_cuda_plan(struct kplan *k);
int adam_cuda(const struct kplan *k, const struct kargs *a);
bool rmsprop_takes_narrow(const struct node *n, int i);
int rmsprop_cuda_plan(struct kplan *k);
int rmsprop_cuda(const struct kplan *k, const struct kargs *a);

#endif
