/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses and metrics over labels on the GPU. Declared in every build, defined only in one with
 * CUDA. */
#ifndef DLX_OP_LOSS_LABELS_CUDA_H
#define DLX_OP_LOSS_LABELS_CUDA_H

#include "op/lib/cuda.h"
#include "op/loss/labels.h"

#ifdef HAVE_CUDA
/* The kernel state that labels_cuda_plan makes. */
struct labels_cuda {
	struct labels labels;        /* for messages */
	struct k_labels k;
	struct k_loss loss;          /* used by softmax cross-entropy only */
	struct k_dice dice;          /* used by Dice only */
	void *bad;                   /* a struct k_bad on the device */
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
