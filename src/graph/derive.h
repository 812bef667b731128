/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which gradients can flow through a node, and the rule for tensor.requires_grad: shared by
 * emitting and differentiation. */
#ifndef DLX_GRAPH_DERIVE_H
#define DLX_GRAPH_DERIVE_H

#include "graph/op.h"

/* Whether a gradient passes from the outputs of n to its input i. */
bool passes_gradient(const struct node *n, int i);
/* Whether output i of n can have a gradient. */
bool carries_gradient(const struct graph *g, const struct node *n, int i);
/* Sets requires_grad of the outputs of n from its inputs. */
void derive_requires_grad(struct graph *g, const struct node *n);

#endif
