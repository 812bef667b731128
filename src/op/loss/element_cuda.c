/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element-wise losses on the GPU. A kernel records a bad target in memory that the host can read,
 * and the host reports it the next time it waits for the device. */
#include "op/loss/element.h"

#include <string.h>

#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

_Static_assert((int)ELEMENT_SQUARE == K_ELEMENT_SQUARE &&
               (int)ELEMENT_ABSOLUTE == K_ELEMENT_ABSOLUTE &&
               (int)ELEMENT_HUBER == K_ELEMENT_HUBER &&
               (int)ELEMENT_LOGISTIC == K_ELEMENT_LOGISTIC, "cuda/kernels.h has other kinds");

struct element_cuda {
	struct k_element k;
	void *bad;                   /* a struct k_bad on the device */
};

static int report(const struct kplan *k, const void *record)
{
	const struct k_bad *b = record;
	struct bad_targets bad = { b->count, b->at, 0 };
	memcpy(&bad.value, &b->value, sizeof bad.value);
	return bad_targets_report(k, &bad);
}

int element_cuda_plan(struct kplan *k)
{
	struct element_cuda *s = k->state = ARENA_NEW(k->arena, struct element_cuda);
	const struct element_attr *at = k->n->attr;
	const struct shape *x = node_in_shape(k->g, k->n, 0);
	s->k = (struct k_element){ .kind = (enum k_element_kind)at->kind, .skip_nan = at->skip_nan,
		.delta = (float)at->delta, .skip = (float)at->skip, .n = shape_count(x),
		.channels = x->nd > 1 ? x->d[1] : 1 };
	k->ws_bytes = (size_t)k_element_workspace();
	return cuda_watch(k, sizeof(struct k_bad), report, &s->bad);
}

void element_cuda_free(struct kplan *k)
{
	cuda_unwatch(k);
}

int element_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct element_cuda *s = k->state;
	const struct k_loss_in in = { a->in[0], a->in[1], kargs_in(k, a, 2) };
	const struct k_loss_out out = { a->out[0], a->out[1], NULL, s->bad };
	return cuda_launched(k, k_element_loss(cuda_stream(k->dev), cuda_in_type(k, 0), &s->k, &in,
	                                       &out, a->ws));
}

/* The targets are valid: the loss, which ran before, has checked them. */
int element_grad_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct element_cuda *s = k->state;
	const struct k_loss_in in = { a->in[0], a->in[1], kargs_in(k, a, 4) };
	const struct k_loss_back back = { .weight = a->in[2], .dloss = a->in[3] };
	return cuda_launched(k, k_element_grad(cuda_stream(k->dev), cuda_in_type(k, 0),
	                                       cuda_out_type(k, 0), &s->k, &in, &back, a->out[0]));
}

#endif
