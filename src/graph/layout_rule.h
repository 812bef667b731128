/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which layout enum kernel_layout requires of each tensor of a node. The layout pass chooses by
 * these functions, and the verifier checks with them. */
#ifndef DLX_GRAPH_LAYOUT_RULE_H
#define DLX_GRAPH_LAYOUT_RULE_H

#include "graph/op.h"

/* For KL_SAME: all tensors of this shape share one layout. It is the shape of out[0] if some input
 * has it too or there are no inputs, else that of in[0]. */
const struct shape *layout_shared_shape(const struct graph *g, const struct node *n);
/* Whether tensor t of n has that shape and so the shared layout. */
bool layout_shares(const struct graph *g, const struct node *n, tid t);
/* Whether in[i] (out[i] if `output`) may be a view of channels, by the kernel's masks slice_in and
 * slice_out; for kernels other than KL_CHOOSE. */
bool kernel_takes_view(const struct graph *g, const struct node *n, enum backend b, bool output,
                       int i);
/* NULL if n's kernel on the backend accepts the layouts of n's tensors, else a text that says what
 * is wrong, and *which is the tensor. KL_CHOOSE kernels choose for themselves and always pass. */
const char *layout_mismatch(const struct graph *g, const struct node *n, enum backend b,
                            tid *which);

#endif
