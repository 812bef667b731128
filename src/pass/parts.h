/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two halves of the pass `parts`: parts.c shares
 * statistics, then parts_grad.c the gradients through them. */
#ifndef DLX_PASS_PARTS_H
#define DLX_PASS_PARTS_H

#include "graph/op.h"

/* Rewrites the gradients of norms whose statistics are shared. */
int parts_grad(struct graph *g);

#endif
