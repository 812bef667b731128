/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks in a report: "0, 2-3", "rank 3 (host n7, process 4711, stopped)". */
#ifndef DLX_COMM_RANKS_TEXT_H
#define DLX_COMM_RANKS_TEXT_H

#include "base/buf.h"
#include "comm/comm.h"

/* The first eight runs of the n ranks in ascending order, then "and N more". */
void ranks_text(struct buf *out, const int *rank, int n);
/* Writes the name of a local rank into buf, as liveness_name does, or only its number if there is
 * no liveness table; returns buf. */
const char *ranks_text_who(const struct comm *c, int local, char *buf, size_t n);

#endif
