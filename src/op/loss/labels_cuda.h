/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses and metrics over labels on the GPU. Declared in
 * every build, there only in one with CUDA. */
#ifndef DLX_OP_LOSS_LABELS_CUDA_H
#define DLX_OP_LOSS_LABELS_CUDA_H

#include "op/lib/cuda.h"
#include "op/loss/labels.h"

#ifdef HAVE_CUDA
/* What labels_cuda_plan leaves in a kernel's state. */
struct labels_cuda {
	struct labels labels;        /* for messages */
	struct k_labels k;
	struct k_loss loss;          /* of softmax cross-entropy alone */
	struct k_dice dice;          /* of Dice alone */
	void *bad;                   /* a struct k_bad */
};
int labels_cuda_plan(struct kplan *k, int64_t ignore);
#endif

int loss_cuda_plan(struct kplan *k);
int loss_cuda(const struct kplan *k, const struct kargs *a);
int loss_grad_cuda(const struct kplan *k, const struct kargs *a);

struct confusion_attr {
	int64_t ignore;
};
int confusion_cuda_plan(struct kplan *k);
int confusion_cuda(const struct kplan *k, const struct kargs *a);
int iou_per_sample_cuda(const struct kplan *k, const struct kargs *a);
int label_ranks_cuda_plan(struct kplan *k);
int label_ranks_cuda(const struct kplan *k, const struct kargs *a);

/* The .free of all these kernels. */
void labels_cuda_free(struct kplan *k);

#endif
