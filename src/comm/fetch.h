/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranges of files that a rank fetches from another rank: each part of a file is read by one rank on
 * behalf of all. The traffic has a communicator of its own and goes on concurrently with a step:
 * one thread of each rank receives requests, other threads answer them, and nothing is collective
 * between opening and closing. A thread that answers never sends requests, so that ranks cannot
 * wait for each other in a circle.
 *
 * The wait for an answer has the deadline of all waits (parallel.timeout). */
#ifndef DLX_COMM_FETCH_H
#define DLX_COMM_FETCH_H

#include "comm/comm.h"

#define FETCH_MOST ((uint64_t)16 << 20)      /* bytes of a range */
#define FETCH_NOTE 512

struct fetch_range {
	int64_t file;                /* number of the file, the same on all ranks */
	uint64_t at, n;              /* bytes */
	bool fresh;                  /* the file must be read again, since the bytes sent before were
	                              * damaged */
	char note[FETCH_NOTE];       /* for the rank that answers, where the range is not of a file */
};

/* Provides the bytes of a range at p. Called concurrently, on the threads of the fetch. 0, or a
 * code with its error record; both are sent to the requesting rank. */
typedef int fetch_answer(void *self, const struct fetch_range *range, void *p);

struct fetch;
/* Collective over c, which has several ranks. threads: the number of threads that answer. */
int fetch_open(struct fetch **out, struct comm *c, int threads, fetch_answer *answer, void *self);
/* Makes all current and future waits for answers end with E_UNAVAILABLE: for a rank that has failed
 * while others have not. */
void fetch_give_up(struct fetch *f);
/* Collective, after all ranks have made their last request (comm_barrier). alone: only this rank
 * has failed; then it is not collective, and communicator and threads are abandoned. After the call
 * `self` of the answers may be freed. NULL is fine. */
void fetch_close(struct fetch *f, bool alone);
/* Fetches a range from another rank into p. Any thread; at most 512 calls run at a time, others
 * wait. Returns that rank's code and error text, or E_UNAVAILABLE at the deadline or if a rank of
 * this host has ended. */
int fetch_ask(struct fetch *f, int rank, const struct fetch_range *range, void *p);
struct fetch_counts {
	int64_t sent, received;      /* bytes of ranges */
};
struct fetch_counts fetch_counts(const struct fetch *f);      /* NULL: none */

#endif
