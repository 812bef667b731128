/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each of the three convolution ops has two of x, w and y as inputs and computes the third. Only
 * this file depends on their order. */
#include "op/conv/conv_args.h"

struct conv_slots conv_slots_of(enum conv_kind kind, const struct node *n)
{
	switch (kind) {
	case CONV_BACKWARD_DATA: return (struct conv_slots){ n->nin, 1, 0, 2 };
	case CONV_BACKWARD_WEIGHTS: return (struct conv_slots){ 0, n->nin, 1, n->nin + 1 };
	default: return (struct conv_slots){ 0, 1, n->nin, 2 };
	}
}

tid conv_tensor_at(const struct node *n, int slot)
{
	if (slot < n->nin)
		return n->in[slot];
	return slot < n->nin + n->nout ? n->out[slot - n->nin] : NONE;
}

bool conv_has_bias(const struct node *n, enum conv_kind kind)
{
	if (kind != CONV_BACKWARD_WEIGHTS)
		return n->nin > 2 && n->in[2] != NONE;
	return conv_tensor_at(n, conv_slots_of(kind, n).bias) != NONE;
}

bool conv_has_sum(const struct node *n, enum conv_kind kind)
{
	return kind == CONV_BACKWARD_DATA && n->nin > CONV_SUM;
}

struct conv_args conv_args_get(enum conv_kind kind, const struct kplan *k, const struct kargs *a)
{
	const struct conv_slots s = conv_slots_of(kind, k->n);
	const int nin = k->n->nin;
#define ARG(slot) ((slot) < nin ? a->in[slot] : a->out[(slot) - nin])
	return (struct conv_args){ ARG(s.x), ARG(s.w), ARG(s.y),
				   conv_has_bias(k->n, kind) ? ARG(s.bias) : NULL,
				   conv_has_sum(k->n, kind) ? a->in[CONV_SUM] : NULL };
#undef ARG
}
