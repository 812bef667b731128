/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What passes of this folder do that put other nodes in the place of old ones. */
#ifndef DLX_OP_REPLACE_H
#define DLX_OP_REPLACE_H

#include "graph/op.h"

/* Emits a node in the place of `old`; its attributes are the defaults and what `from`, if any, and old say. */
int replace_emit(struct graph *g, const struct node *old, const char *name, const struct node *from, int nin, const tid *in,
                 struct node **out);
/* Output i of a new node becomes a tensor that is there already, unless that is NONE; what was made for it is nobody's. */
void replace_output(struct graph *g, struct node *made, int i, tid old);

#endif
