/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A deadline for polling waits, by a clock that stops while the process is stopped (a suspended
 * job, a debugger). Waiting threads poll several times a second; a gap of over 1 s between polls
 * means that the process was stopped, and does not count. */
#ifndef DLX_BASE_DEADLINE_H
#define DLX_BASE_DEADLINE_H

#include "base/io.h"

#define DEADLINE_ROUND 0.25                     /* seconds between polls */
#define DEADLINE_GAP INT64_C(1000000000)       /* nanoseconds */

struct deadline {
	int64_t begin, asked;                   /* begin of the wait and the latest poll, in
	                                         * io_nanoseconds */
};

static inline struct deadline deadline_begin(void)
{
	const int64_t now = io_nanoseconds();
	return (struct deadline){ now, now };
}

/* Call it at each poll: returns the seconds of waiting so far, without the time that the process
 * was stopped. */
static inline double deadline_waited(struct deadline *d)
{
	const int64_t now = io_nanoseconds(), gap = now - d->asked;
	if (gap > DEADLINE_GAP)
		d->begin += gap;
	d->asked = now;
	return (double)(now - d->begin) * 1e-9;
}

#endif
