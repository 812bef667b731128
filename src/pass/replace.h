/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Helpers of passes that replace nodes by new ones. */
#ifndef DLX_PASS_REPLACE_H
#define DLX_PASS_REPLACE_H

#include "graph/op.h"

/* Emits a node in the place of `old`; its attributes are
 * the defaults and what `from`, if any, and old say. */
int replace_emit(struct graph *g, const struct node *old, const char *name, const struct node *from, int nin, const tid *in,
                 struct node **out);
/* Output i of a new node becomes the existing tensor `old`, unless that is NONE; the tensor made
 * for it stays unused. */
void replace_output(struct graph *g, struct node *made, int i, tid old);

#endif
