/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The liveness table of a host's ranks: a slot for each rank in shared memory, so that a
 * rank that waits too long can name the ranks that are missing. */
#ifndef DLX_COMM_LIVENESS_H
#define DLX_COMM_LIVENESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIVENESS_TEXT 64

struct liveness_slot {
	_Alignas(128) _Atomic int64_t pid;
	_Atomic uint64_t pid_namespace;      /* namespace of pid: pids are comparable only within one */
	_Atomic int64_t entered;             /* number of set-up collectives entered so far */
	_Atomic int64_t since;               /* when the rank entered the latest one: nanoseconds of the
	                                      * host's clock */
	_Atomic uint64_t what[LIVENESS_TEXT / 8];
	_Atomic int reporter;                /* of the host's first slot: the rank
	                                      * that reports the error, from 1 */
	/* What the rank waits for in a step (comm/board.h): waits_for: an enum board_kind; waits_rank:
	 * the rank that it waits for, from 1, 0: unknown; waits_name: name of the sum or message. */
	_Atomic int waits_for, waits_rank;
	_Atomic uint64_t waits_name[LIVENESS_TEXT / 8];
};

struct liveness {
	struct liveness_slot *slots;         /* the slots of the host's ranks */
	const int *place;                    /* by local rank: index of its slot; NULL: local rank i has
	                                      * slot i */
	const int *rank;                     /* by local rank: number among all ranks */
	int n, me;
	const char *host;
};

static inline struct liveness_slot *liveness_slot(const struct liveness *b, int local)
{
	return &b->slots[b->place ? b->place[local] : local];
}

enum slot_state { SLOT_RUNS, SLOT_STOPPED, SLOT_GONE, SLOT_UNKNOWN };

static inline size_t liveness_bytes(int n)
{
	return (size_t)n * sizeof(struct liveness_slot);
}
void liveness_register(struct liveness *b);            /* before any rank reads this slot */
void liveness_enter(struct liveness *b, const char *what);
enum slot_state liveness_state(const struct liveness *b, int local);
/* The first local rank whose process has ended, or -1. */
int liveness_gone(const struct liveness *b);
/* Whether a rank of this host cannot be waited for: stopped or ended. */
bool liveness_halted(const struct liveness *b);
/* For MPI_Finalize, after the table is gone: liveness_remember keeps the ranks' processes, and
 * liveness_end_halted then ends those that are stopped, for which a launcher would wait for ever. A
 * suspended job does not reach its deadline (base/deadline.h). */
void liveness_remember(const struct liveness *b);
void liveness_end_halted(void);
/* Extra seconds beyond the deadline for a host whose ranks are all present: the missing rank is
 * then on another host, whose report should be the only one. */
double liveness_patience(int host);
/* The rank of this host that reports the error: `rank`, unless another rank has called this
 * first. */
int liveness_reporter(struct liveness *b, int rank);
/* "rank 3 (host n7, process 4711, stopped)" into buf; returns buf. */
const char *liveness_name(const struct liveness *b, int local, char *buf, size_t n);
/* Copy between a text and the atomic words of a slot; the text is truncated to LIVENESS_TEXT - 1
 * bytes. */
void liveness_text_set(_Atomic uint64_t word[LIVENESS_TEXT / 8], const char *text);
void liveness_text_get(const _Atomic uint64_t word[LIVENESS_TEXT / 8], char out[LIVENESS_TEXT]);
/* out: the name of the set-up collective that this local rank entered last; "" before the first. */
void liveness_collective(const struct liveness *b, int local, char out[LIVENESS_TEXT]);

#endif
