/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The expected values of elements of a convolution's result (the callback `expect` of struct
 * op). */
#ifndef DLX_OP_CONV_CONV_EXPECT_H
#define DLX_OP_CONV_CONV_EXPECT_H

#include "graph/op.h"

int conv_expect(const struct graph *g, const struct node *n, void *const *in, int o,
                const struct picks *p, struct expected *e);
/* For conv_grad_input and conv_grad_input_add. */
int conv_grad_input_expect(const struct graph *g, const struct node *n, void *const *in, int o,
                           const struct picks *p, struct expected *e);
int conv_grad_weight_expect(const struct graph *g, const struct node *n, void *const *in, int o,
                            const struct picks *p, struct expected *e);

#endif
