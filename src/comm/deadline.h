/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long one has waited, by a clock that stands still while the process does: a job that its
 * scheduler suspends, or a debugger holds, comes back with all its ranks, none of which was late.
 * Who waits asks several times a second; a pause between two questions that is much longer was none
 * of waiting. */
#ifndef DLX_COMM_DEADLINE_H
#define DLX_COMM_DEADLINE_H

#include "comm/board.h"

#define DEADLINE_GAP INT64_C(1000000000)       /* nanoseconds */

struct deadline {
	int64_t begin, asked;
};

static inline struct deadline deadline_begin(void)
{
	int64_t now = board_now();
	return (struct deadline){ now, now };
}

/* Seconds of waiting so far. */
static inline double deadline_waited(struct deadline *d)
{
	int64_t now = board_now(), gap = now - d->asked;
	if (gap > DEADLINE_GAP)
		d->begin += gap;
	d->asked = now;
	return (double)(now - d->begin) * 1e-9;
}

#endif
