/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The waiting board of a host: what each of its ranks waits for in a step, be it a sum or a
 * message, so that a report can follow the ranks that wait for each other. It is a part of the
 * liveness table; without one nothing is noted. Only for src/comm/. */
#ifndef DLX_COMM_BOARD_H
#define DLX_COMM_BOARD_H

#include "base/buf.h"
#include "comm/world.h"

enum board_kind {
	BOARD_NOTHING,
	BOARD_SUM,                   /* a sum that `rank` has not started; -1: all ranks have */
	BOARD_MESSAGE,               /* a message of `rank` */
	BOARD_ROOM                   /* that `rank` takes a message */
};

/* This rank waits, or again: the rank (as the whole counts them) may change meanwhile. */
void board_wait(const struct comm *c, enum board_kind kind, const char *name, int rank);
/* It goes on. Not after an error: other ranks report what it waits for. */
void board_go(const struct comm *c);

/* Appends " waits for 'conv3: row 64' of rank 2, which waits for 'grad' of rank 1 (process 71,
 * ended)": what this rank of the whole waits for, and so on, as far as it is known on this host.
 * False if that rank does not wait, or is on another host; nothing is appended then. */
bool board_follow(const struct comm *c, int rank, struct buf *out);

/* The rank of the whole that reports an error of this host's ranks: the first that asks; `own`
 * notes it where there is no table. This rank's comm_prints and comm_told follow. */
int board_reporter(struct comm *c, _Atomic int *own);

#endif
