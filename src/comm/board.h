/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The liveness table of a host's ranks: a slot ("seat") for each rank in shared memory, so that a
 * rank that waits too long can name the ranks that are missing. */
#ifndef DLX_COMM_BOARD_H
#define DLX_COMM_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOARD_TEXT 64

struct board_seat {
	_Alignas(128) _Atomic int64_t pid;
	_Atomic uint64_t room;               /* of process ids: pids mean something to those of one room */
	_Atomic int64_t entered;             /* set-up collectives so far */
	_Atomic int64_t since;               /* nanoseconds of the host's clock when it came to the last */
	_Atomic uint64_t what[BOARD_TEXT / 8];
	_Atomic int reporter;                /* of the host's first seat: the rank
	                                      * that reports the error, from 1 */
};

struct board {
	struct board_seat *seat;             /* by local rank */
	const int *rank;                     /* of all processes */
	int n, me;
	const char *host;
};

enum seat_state { SEAT_RUNS, SEAT_STOPPED, SEAT_GONE, SEAT_UNKNOWN };

static inline size_t board_bytes(int n)
{
	return (size_t)n * sizeof(struct board_seat);
}
int64_t board_now(void);                               /* nanoseconds; the same clock for a host's ranks */
void board_sit(struct board *b);                       /* before any rank reads this slot */
void board_enter(struct board *b, const char *what);
enum seat_state board_state(const struct board *b, int local);
int board_gone(const struct board *b);                 /* the first whose process has ended, or -1 */
/* Whether a rank of this host cannot be waited for: stopped or ended. */
bool board_halted(const struct board *b);
/* For MPI_Finalize, after the table is gone: board_remember keeps the ranks' processes, and
 * board_end_halted then ends those that are stopped, for which a launcher would wait for ever. A
 * suspended job does not reach its deadline (comm/deadline.h). */
void board_remember(const struct board *b);
void board_end_halted(void);
/* Seconds beyond the deadline that a host waits whose ranks are all present: another host has a
 * missing rank to name, and its report is to be the only one. */
double board_patience(int host);
/* The rank of the host that reports the error: `rank`, unless another was first. */
int board_reporter(struct board *b, int rank);
/* "rank 3 (host n7, process 4711, stopped)" into buf; returns buf. */
const char *board_who(const struct board *b, int local, char *buf, size_t n);
/* Of local ranks the last set-up collective, "" before the first. */
void board_what(const struct board *b, int local, char out[BOARD_TEXT]);

#endif
