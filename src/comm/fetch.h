/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bytes of files that a rank fetches from another one, whose reading of the file all ranks share.
 * The traffic has a communicator of its own and goes on concurrently with a step: a thread of each
 * rank waits for questions, others answer them, and nothing is collective between opening and
 * closing. A thread that answers never asks, so that no ranks can wait for each other in a circle.
 *
 * The wait for an answer has the deadline of all waits (parallel.timeout). */
#ifndef DLX_COMM_FETCH_H
#define DLX_COMM_FETCH_H

#include "comm/comm.h"

#define FETCH_MOST ((uint64_t)16 << 20)      /* bytes of a range */

struct fetch_range {
	int64_t file;                /* as all ranks number the files */
	uint64_t at, n;              /* bytes */
	bool fresh;                  /* what was sent before was damaged */
};

/* The bytes of a range into p; on threads of its own, several at a time. 0, or a code with its
 * record, which the rank that asked gets. */
typedef int fetch_answer(void *self, const struct fetch_range *range, void *p);

struct fetch;
/* Collective over c, which has several ranks. threads: how many answer. */
int fetch_open(struct fetch **out, struct comm *c, int threads, fetch_answer *answer, void *self);
/* Ends all waits for answers, now and from now on, with E_UNAVAILABLE: for a rank that has failed
 * alone. */
void fetch_give_up(struct fetch *f);
/* Collective, unless this rank has failed alone: then what was opened is given up, and what answers
 * are made of may go. All ranks have asked their last before (comm_barrier). NULL is fine. */
void fetch_close(struct fetch *f, bool alone);
/* The range from another rank into p. Any thread; 512 at a time, and further ones wait. That rank's
 * code and text; E_UNAVAILABLE at the deadline, or if a rank of this host has ended. */
int fetch_ask(struct fetch *f, int rank, const struct fetch_range *range, void *p);
struct fetch_counts {
	int64_t sent, received;      /* bytes of ranges */
};
struct fetch_counts fetch_counts(const struct fetch *f);      /* NULL: none */

#endif
