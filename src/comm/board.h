/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The waiting board of a host: in shared memory, which sum or message each of its ranks waits for
 * in a step, so that an error report can follow the chain of ranks that wait for each other. It is
 * part of the liveness table; without that table nothing is recorded. Internal to src/comm/. */
#ifndef DLX_COMM_BOARD_H
#define DLX_COMM_BOARD_H

#include "base/buf.h"
#include "comm/world.h"

enum board_kind {
	BOARD_NOTHING,
	BOARD_SUM,                   /* waits for a sum that `rank` has not started; -1: all ranks have
	                              * started it */
	BOARD_MESSAGE,               /* waits for a message from `rank` */
	BOARD_ROOM                   /* waits until `rank` takes a message, to have room for the next */
};

/* Records that this rank waits. Called again if the awaited rank changes. rank: its number among
 * all ranks. */
void board_wait(const struct comm *c, enum board_kind kind, const char *name, int rank);
/* Records that this rank no longer waits. Not called after an error, so that other ranks can report
 * what this one waited for. */
void board_go(const struct comm *c);

/* Appends " waits for 'conv3: row 64' of rank 2, which waits for 'grad' of rank 1 (process 71,
 * ended)": what `rank` (its number among all ranks) waits for, what that rank waits for, and so on,
 * as far as it is known on this host. False, and nothing is appended, if that rank does not wait or
 * is on another host. */
bool board_follow(const struct comm *c, int rank, struct buf *out);

/* Elects the rank that reports an error of this host's ranks: the first one that calls this.
 * Returns its number among all ranks, and sets this rank's comm_prints and comm_told accordingly.
 * own: holds the election if there is no liveness table. */
int board_reporter(struct comm *c, _Atomic int *own);

#endif
