/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The meaning of enum kernel_layout for each tensor of a node: one place, used by the layout pass
 * to decide and by the verifier to check. */
#ifndef DLX_GRAPH_LAYOUT_RULE_H
#define DLX_GRAPH_LAYOUT_RULE_H

#include "graph/op.h"

/* KL_SAME: the shape whose tensors share one layout. out[0]'s if it has no inputs or one of them
 * has that shape, else in[0]'s. */
const struct shape *layout_shared_shape(const struct graph *g, const struct node *n);
/* Whether tensor t of n takes part in that. */
bool layout_shares(const struct graph *g, const struct node *n, tid t);
/* Whether in[i] (out[i]) may be a view by the masks of a kernel that is not KL_CHOOSE. */
bool kernel_takes_view(const struct graph *g, const struct node *n, enum backend b, bool output,
                       int i);
/* NULL if the layouts of n's tensors suit the kernel n has on the backend, else what is wrong.
 * *which: the tensor. KL_CHOOSE is the kernel's own affair and always suits. */
const char *layout_mismatch(const struct graph *g, const struct node *n, enum backend b,
                            tid *which);

#endif
