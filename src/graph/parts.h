/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two halves of the pass `parts`: parts.c shares statistics, then parts_grad.c what goes back
 * through them. */
#ifndef DLX_GRAPH_PARTS_H
#define DLX_GRAPH_PARTS_H

#include "graph/pass.h"

/* Gradients of the norms whose statistics are those of parts by now. */
int parts_grad(struct graph *g);

#endif
