/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Soft Dice on the GPU. */
#include "op/loss/dice.h"

#include "base/err.h"
#include "op/loss/labels_cuda.h"
#include "op/norm/norm_sync.h"

#ifdef HAVE_CUDA

/* Without a reducer the message of a node with a group begins the workspace. */
static size_t message_bytes(const struct kplan *k)
{
	const struct dice_attr *at = k->n->attr;
	const struct k_dice *c = &((const struct labels_cuda *)k->state)->dice;
	return at->group < 0 ? 0 : sizeof(double) *
	       (size_t)norm_sync_message(2 * c->groups * c->labels.classes);
}

int dice_cuda_plan(struct kplan *k)
{
	const struct dice_attr *at = k->n->attr;
	TRY(labels_cuda_plan(k, at->ignore));
	struct labels_cuda *s = k->state;
	int64_t samples = s->labels.shape.d[0];
	s->dice = (struct k_dice){ .labels = s->k, .groups = at->per_batch ? 1 : samples,
		.samples = samples, .squared = at->squared, .background = at->background,
		.per_batch = at->per_batch, .smooth_numerator = at->smooth_numerator,
		.smooth_denominator = at->smooth_denominator, .dice = at->dice,
		.cross_entropy = at->cross_entropy };
	k->ws_bytes = message_bytes(k) + (size_t)k_dice_workspace(&s->dice);
	return 0;
}

int dice_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct labels_cuda *s = k->state;
	const struct k_loss_in in = { a->in[0], a->in[1], kargs_in(k, a, 2) };
	const struct k_loss_out out = { a->out[0], a->out[1], a->out[2], s->bad };
	const struct norm_sync t = norm_sync_of(a, ((const struct dice_attr *)k->n->attr)->group);
	void *stream = cuda_stream(k->dev), *ws = (char *)a->ws + message_bytes(k);
	const int type = cuda_in_type(k, 0);
	if (t.group < 0)
		return cuda_launched(k, k_dice_loss(stream, type, &s->dice, &in, &out, ws));
	double *message = norm_sync_memory(&t, a->ws);
	TRY(cuda_launched(k, k_dice_give(stream, type, &s->dice, &in, message, ws)));
	TRY(norm_sync_meet(&t));
	return cuda_launched(k, k_dice_take(stream, &s->dice, &in, message, &out, ws));
}

/* The labels are valid: the loss, which ran before, has checked them. */
int dice_grad_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct labels_cuda *s = k->state;
	const struct k_loss_in in = { a->in[0], a->in[1], NULL };
	const struct k_loss_back back = { .kept = a->in[2], .dloss = a->in[3] };
	return cuda_launched(k, k_dice_grad(cuda_stream(k->dev), cuda_in_type(k, 0),
	                                    cuda_out_type(k, 0), &s->dice, &in, &back, a->out[0]));
}

#endif
