/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two halves of the pass `piece_statistics`: piece_statistics.c shares
 * statistics, then piece_statistics_grad.c the gradients through them. */
#ifndef DLX_PASS_PIECE_STATISTICS_H
#define DLX_PASS_PIECE_STATISTICS_H

#include "graph/op.h"

/* Rewrites the gradients of norms whose statistics are shared. */
int piece_statistics_grad(struct graph *g);

#endif
