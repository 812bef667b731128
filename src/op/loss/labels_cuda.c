/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses and metrics over labels on the GPU. A kernel records a bad label in memory that the host
 * can read, and the host reports it the next time it waits for the device. */
#include "op/loss/labels_cuda.h"

#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/loss/labels.h"
#include "op/loss/loss.h"

#ifdef HAVE_CUDA

_Static_assert((int)LOSS_MEAN == K_LOSS_MEAN && (int)LOSS_MEAN_PIXELS == K_LOSS_MEAN_PIXELS &&
               (int)LOSS_SUM == K_LOSS_SUM, "cuda/kernels.h numbers reductions otherwise");

static int report(const struct kplan *k, const void *record)
{
	const struct labels_cuda *s = k->state;
	const struct k_bad *b = record;
	return bad_labels_report(&(struct bad_labels){ b->count, b->at, b->value }, k, &s->labels);
}

int labels_cuda_plan(struct kplan *k, int64_t ignore)
{
	struct labels_cuda *s = k->state = ARENA_NEW(k->arena, struct labels_cuda);
	const struct tensor *y = graph_t(k->g, k->n->in[1]);
	labels_init(&s->labels, k, ignore);
	if (s->labels.classes > 1 << 20)
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU takes up to %d classes",
		           k->n->op->name, 1 << 20);
	s->k = (struct k_labels){ .n = s->labels.rows * s->labels.w, .ignore = ignore,
		.classes = (int)s->labels.classes,
		.nd = y->shape.nd, .dense = layout_is_plain(&y->layout, &y->shape) };
	for (int a = 0; a < y->shape.nd; a++) {
		s->k.d[a] = y->shape.d[a];
		s->k.stride[a] = y->layout.stride[a];
	}
	return cuda_watch(k, sizeof(struct k_bad), report, &s->bad);
}

void labels_cuda_free(struct kplan *k)
{
	cuda_unwatch(k);
}

/* --- softmax cross-entropy --- */

int loss_cuda_plan(struct kplan *k)
{
	const struct loss_attr *at = k->n->attr;
	TRY(labels_cuda_plan(k, at->ignore));
	struct labels_cuda *s = k->state;
	s->loss = (struct k_loss){ .labels = s->k, .reduction = (enum k_loss_reduction)at->reduction,
		.samples = s->labels.shape.d[0], .scale = at->scale, .gamma = at->gamma,
		.smoothing = at->smoothing };
	k->ws_bytes = (size_t)k_loss_workspace();
	return 0;
}

int loss_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct labels_cuda *s = k->state;
	const struct k_loss_in in = { a->in[0], a->in[1], kargs_in(k, a, 2) };
	const struct k_loss_out out = { a->out[0], a->out[1], a->out[2], s->bad };
	return cuda_launched(k, k_cross_entropy(cuda_stream(k->dev), cuda_in_type(k, 0), &s->loss, &in,
	                                        &out, a->ws));
}

/* The labels are valid: the loss, which ran before, has checked them. */
int loss_grad_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct labels_cuda *s = k->state;
	const struct k_loss_in in = { a->in[0], a->in[1], kargs_in(k, a, 5) };
	const struct k_loss_back back = { .kept = a->in[2], .weight = a->in[3], .dloss = a->in[4] };
	return cuda_launched(k, k_cross_entropy_grad(cuda_stream(k->dev), cuda_in_type(k, 0),
	                                             cuda_out_type(k, 0), &s->loss, &in, &back,
	                                             a->out[0]));
}

/* --- metrics --- */

int confusion_cuda_plan(struct kplan *k)
{
	TRY(labels_cuda_plan(k, ((const struct confusion_attr *)k->n->attr)->ignore));
	k->ws_bytes =
		(size_t)k_confusion_workspace(((const struct labels_cuda *)k->state)->labels.classes);
	return 0;
}

int confusion_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct labels_cuda *s = k->state;
	return cuda_launched(k, k_confusion(cuda_stream(k->dev), cuda_in_type(k, 0), &s->k, a->in[0],
	                                    a->in[1], a->out[0], s->bad, a->ws));
}

int iou_per_sample_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct labels_cuda *s = k->state;
	return cuda_launched(k, k_iou_per_sample(cuda_stream(k->dev), cuda_in_type(k, 0), &s->k,
	                                         s->labels.shape.d[0], a->in[0], a->in[1], a->out[0],
	                                         s->bad, a->ws));
}

int label_ranks_cuda_plan(struct kplan *k)
{
	TRY(labels_cuda_plan(k, ((const struct confusion_attr *)k->n->attr)->ignore));
	k->ws_bytes =
		(size_t)k_label_ranks_workspace(((const struct labels_cuda *)k->state)->labels.classes);
	return 0;
}

int label_ranks_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct labels_cuda *s = k->state;
	return cuda_launched(k, k_label_ranks(cuda_stream(k->dev), cuda_in_type(k, 0), &s->k, a->in[0],
	                                      a->in[1], a->out[0], s->bad, a->ws));
}

#endif
