/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CPU kernels of conv.c, on oneDNN. */
#ifndef DLX_OP_CONV_CPU_H
#define DLX_OP_CONV_CPU_H

#include "graph/op.h"

int conv_choose(struct kplan *k, struct layout *in, struct layout *out);
int conv_grad_input_choose(struct kplan *k, struct layout *in, struct layout *out);
int conv_grad_weight_choose(struct kplan *k, struct layout *in, struct layout *out);
int conv_plan(struct kplan *k);
int conv_grad_input_plan(struct kplan *k);
int conv_grad_weight_plan(struct kplan *k);
int conv_run(const struct kplan *k, const struct kargs *a);              /* all three */
void conv_free(struct kplan *k);

#define CONV_CPU(name) { KL_CHOOSE, name##_choose, name##_plan, conv_run, conv_free }

#endif
