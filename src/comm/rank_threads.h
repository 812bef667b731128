/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that are threads of one process, on one host: for tests, and for checks of a partition. All
 * of comm.h, reducer.h and exchange.h works between them. */
#ifndef DLX_COMM_RANK_THREADS_H
#define DLX_COMM_RANK_THREADS_H

#include "comm/comm.h"

/* Calls work(c, arg) for each of `ranks` ranks, in a thread of its own, and returns when all have
 * returned: 0, or the code of the first rank that failed, with its record in base/err.h. timeout:
 * as in struct comm. If one rank fails, all must return together (comm_agree); otherwise the others
 * wait for it until the timeout. */
int rank_threads_run(int ranks, double timeout, int (*work)(struct comm *c, void *arg), void *arg);

#endif
