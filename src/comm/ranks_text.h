/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks in a report: "0, 2-3". */
#ifndef DLX_COMM_RANKS_TEXT_H
#define DLX_COMM_RANKS_TEXT_H

#include "base/buf.h"

/* The first eight runs of the n ranks in ascending order, then "and N more". */
void ranks_text(struct buf *out, const int *rank, int n);

#endif
