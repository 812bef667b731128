/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CPU kernels of conv.c. Each runs the fastest algorithm of conv_algorithm.h. */
#ifndef DLX_OP_CONV_CONV_CPU_H
#define DLX_OP_CONV_CONV_CPU_H

#include "graph/op.h"

int conv_choose(struct kplan *k, struct layout *in, struct layout *out);
int conv_grad_input_choose(struct kplan *k, struct layout *in, struct layout *out);
int conv_grad_weight_choose(struct kplan *k, struct layout *in, struct layout *out);
/* Whether an algorithm that supports slices is fast enough to be worth the copy that it saves. */
bool conv_takes_slice(const struct kplan *k, bool output, int i);
bool conv_grad_input_takes_slice(const struct kplan *k, bool output, int i);
bool conv_grad_weight_takes_slice(const struct kplan *k, bool output, int i);
void conv_foresee(const struct kplan *k);
int conv_plan(struct kplan *k);
int conv_grad_input_plan(struct kplan *k);
int conv_grad_weight_plan(struct kplan *k);
int conv_run(const struct kplan *k, const struct kargs *a);              /* all three */
void conv_free(struct kplan *k);

/* writes: mask of outputs that may be bf16. Gradients to weights and biases are f32. */
#define CONV_CPU(name, writes, sees) CONV_CPU_TAKING(name, writes, sees, 3)
/* takes: mask of inputs that may be bf16. */
#define CONV_CPU_TAKING(name, writes, sees, takes)                                   \
	{                                                                                \
		.layouts = KL_CHOOSE, .foresee = sees, .choose = name##_choose,              \
		.plan = name##_plan,                                                         \
		.run = conv_run, .free = conv_free,                                          \
		.takes_slice = name##_takes_slice,                                           \
		.bf16_in = takes, .bf16_out = writes, .bf16 = KB_FASTER,                     \
	}

#endif
